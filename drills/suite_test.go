package drills_test

import (
	"context"
	"os"
	"path/filepath"
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
//	RECKON_DRILL=rollback-versions go test ./drills -v -run TestDrill -ginkgo.label-filter=argo-rollouts-v1.8.2
//
// RECKON_DRILL names a shipped drill, a scenario or the absolute path of a
// drill file. Runs go to results/runs as those of `reckon run` do, and because
// the test looks there at its end, go test never answers from its cache.
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
	const results = "../results"
	s, err := cli.Suite(p, results, cli.IO{Out: t.Output(), Err: t.Output(), Getenv: os.Getenv, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.Register(ctx)
	gomega.RegisterFailHandler(ginkgo.Fail)
	config, reporter := ginkgo.GinkgoConfiguration()
	config.FailOnEmpty = true // a filter that selects nothing must not be green
	ginkgo.RunSpecs(t, p.Drill, config, reporter)
	if runs, err := os.ReadDir(filepath.Join(results, "runs")); err == nil {
		t.Logf("%d entries in %s/runs, the newest run is latest", len(runs), results)
	}
}
