// Package kwok holds what the simulation of nodes and pods is made of: kwok's
// configuration with our Stages, the Node that is simulated, and the rights
// that kwok has.
package kwok

import "embed"

// Files are the manifests of this directory.
//
//go:embed *.yaml stages/*.yaml
var Files embed.FS
