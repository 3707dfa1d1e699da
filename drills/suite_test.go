package drills_test

import (
	"context"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cli"
	"reckon.dev/reckon/harness/plan"
)

// TestDrill runs a drill as a Ginkgo suite, for people who prefer `go test` or
// the ginkgo command:
//
//	RECKON_DRILL=rollback-versions go test ./drills -run TestDrill -ginkgo.label-filter=argo-rollouts-v1.8.2
//
// RECKON_DRILL names a drill file, a shipped drill or a scenario.
func TestDrill(t *testing.T) {
	name := os.Getenv("RECKON_DRILL")
	if name == "" {
		t.Skip("RECKON_DRILL names no drill; it brings clusters up")
	}
	drill, err := drills.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(drill, plan.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s, err := cli.Suite(p, t.TempDir(), cli.IO{Out: t.Output(), Err: t.Output(), Getenv: os.Getenv, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	s.Register(ctx)
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, p.Drill)
}
