// Package harness carries the sources of those of its packages that programs in
// images are made of. Where reckon runs there may be no checkout to build them
// from.
package harness

import "embed"

// The whole of reckon-traffic, less its tests: a test of the toolchain compiles
// what is listed here. Of the recording it has the types alone.
//
//go:embed recording/recording.go
//go:embed traffic/fleet.go traffic/sink.go traffic/tap.go traffic/wire.go
//go:embed traffic/echo/config.go traffic/echo/server.go traffic/echo/service.go
//go:embed traffic/load/bins.go traffic/load/classify.go traffic/load/config.go traffic/load/grpc.go traffic/load/http.go
//go:embed traffic/load/load.go traffic/load/schedule.go traffic/load/watch.go
//go:embed traffic/xdsfleet/answer.go traffic/xdsfleet/backoff.go traffic/xdsfleet/config.go traffic/xdsfleet/control.go
//go:embed traffic/xdsfleet/files_other.go traffic/xdsfleet/files_unix.go traffic/xdsfleet/fleet.go traffic/xdsfleet/goaway.go
//go:embed traffic/xdsfleet/held.go traffic/xdsfleet/journal.go traffic/xdsfleet/picker.go traffic/xdsfleet/proxy.go traffic/xdsfleet/stream.go
//go:embed traffic/reckon-traffic/main.go
var sources embed.FS

// Sources are below the paths that they have in this package's directory.
func Sources() embed.FS { return sources }
