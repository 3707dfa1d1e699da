// Command reckon-traffic is what drills need beside the cluster, in one program and
// so one image: `serve` answers requests, `load` sends them, and `fleet` is proxies
// that connect to istiod.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"reckon.dev/reckon/harness/traffic/echo"
	"reckon.dev/reckon/harness/traffic/load"
	"reckon.dev/reckon/harness/traffic/xdsfleet"
)

// maxProcs keeps the program small beside what is tested. Two, so that garbage
// is collected while requests are sent.
const maxProcs = 2

// fleetGC is how much garbage a fleet may have, in percent of what lives: most of it
// are connections, which are silent once they are there, so that its memory is what
// they cost and little more.
const fleetGC = 30

const usage = `usage: reckon-traffic serve [-grpc ADDRESS] [-http ADDRESS]
       reckon-traffic load -target TARGET [flags]
       reckon-traffic fleet -proxies N [flags]
`

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(maxProcs, runtime.NumCPU()))
	}
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run returns the exit code: 0, 1 for a failure, 2 for a wrong command line or environment.
func run(args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	verbs := map[string]func(context.Context, []string, func(string) string, io.Writer, io.Writer) error{"serve": serve, "load": send, "fleet": connect(stdin)}
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return 2
	}
	err := verbs[args[0]](ctx, args[1:], getenv, stdout, stderr)
	if wrong, ok := errors.AsType[usageError](err); ok {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintf(stderr, "reckon-traffic %s: %v\n", args[0], wrong)
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "reckon-traffic %s: %v\n", args[0], err)
		return 1
	}
	return 0
}

// usageError is the user's.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func serve(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.SetOutput(stderr)
	grpcAt := f.String("grpc", ":8080", "address of gRPC")
	httpAt := f.String("http", ":8081", "address of HTTP, /readyz and /healthz")
	if err := f.Parse(args); err != nil {
		return usageError{err}
	}
	cfg, err := echo.FromEnv(getenv)
	if err != nil {
		return usageError{err}
	}
	grpcOn, err := net.Listen("tcp", *grpcAt)
	if err != nil {
		return err
	}
	httpOn, err := net.Listen("tcp", *httpAt)
	if err != nil {
		return errors.Join(err, grpcOn.Close())
	}
	return echo.New(cfg, stdout).Serve(ctx, grpcOn, httpOn)
}

func send(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	cfg, err := load.Parse(args, getenv, stderr)
	if err != nil {
		return usageError{err}
	}
	return load.Run(ctx, cfg, stdout)
}

// connect is a fleet that is told by stdin which replicas are ready.
func connect(stdin io.Reader) func(context.Context, []string, func(string) string, io.Writer, io.Writer) error {
	return func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
		cfg, err := xdsfleet.Parse(args, stderr)
		if err != nil {
			return usageError{err}
		}
		if getenv("GOGC") == "" {
			debug.SetGCPercent(fleetGC)
		}
		return xdsfleet.Run(ctx, cfg, stdin, stdout)
	}
}
