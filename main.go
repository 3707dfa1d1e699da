// Command reckon runs drills against Kubernetes controllers.
package main

import (
	"context"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"reckon.dev/reckon/harness/cli"
)

func main() {
	// client-go and controller-runtime log on their own, process-wide; what
	// matters of it reaches our errors.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.IO{
		Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Clock: clock.RealClock{},
	}))
}
