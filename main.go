// Command reckon runs drills against Kubernetes controllers.
package main

import (
	"context"
	"os"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.IO{
		Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Clock: clock.RealClock{},
	}))
}
