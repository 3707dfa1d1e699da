//go:build linux

package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/scenarios/workload"
)

// The controller manager is killed while pods change places one by one, and
// started again: the update goes on, and nothing that was predicted is lost.
func TestRunWithControllerManagerRestart(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, "rolling-update", "replicas=10", "readiness=one-by-one", "startup=300ms", "quiet=1s")
	restart := engine.Disturbance{Name: "restart the controller manager", Step: workload.StepSettle, Do: func(ctx context.Context, c cluster.Cluster) error {
		time.Sleep(time.Second) // into the update: the fault is to hit it half-way
		return c.(cluster.ComponentRestarter).RestartComponent(ctx, cluster.ControllerManager)
	}}
	r.Disturb = []engine.Disturbance{restart}
	run := r.judged().Run
	if run.Verdict.Outcome != judge.Pass {
		t.Errorf("%s: %q", run.Verdict.Outcome, run.Verdict.Reasons)
	}
	step, settle := run.Set.Step(restart.Name), run.Set.Step(workload.StepSettle)
	if step == nil || settle == nil || settle.End < step.End {
		t.Errorf("the update was over before the controller manager was back: %+v, %+v", step, settle)
	}
}

// A template is changed while no controller runs. The old status says that all
// pods are there, updated and available; nobody may take that for the end
// (Shopify/krane#325, argo-rollouts#1526).
func TestRunWhoseControllerManagerIsAway(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, "rolling-update", "replicas=2", "startup=0s", "quiet=1s")
	away := engine.Disturbance{Name: "no controller manager", Step: workload.StepUpdate, Do: func(ctx context.Context, c cluster.Cluster) error {
		restarter := c.(cluster.ComponentRestarter)
		if err := restarter.StopComponent(ctx, cluster.ControllerManager); err != nil {
			return err
		}
		time.Sleep(2 * time.Second) // how long it is away is the fault
		return restarter.StartComponent(ctx, cluster.ControllerManager)
	}}
	r.Disturb = []engine.Disturbance{away}
	run := r.judged().Run
	if run.Verdict.Outcome != judge.Pass {
		t.Errorf("%s: %q", run.Verdict.Outcome, run.Verdict.Reasons)
	}
	step, settle := run.Set.Step(away.Name), run.Set.Step(workload.StepSettle)
	if step == nil || settle == nil || settle.Error != "" || settle.End < step.End {
		t.Errorf("the update was taken for complete without a controller: %+v, %+v", step, settle)
	}
}

// Runs on one cluster do not see each other. When a part of the cluster dies,
// the runs that are on it are invalid, and the next one gets a new cluster.
func TestRunsShareACluster(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, "rolling-update", "replicas=2", "startup=0s", "quiet=2s")
	var last cluster.Cluster // one comes up at a time
	provider := r.Provider
	r.Provider = func(cell plan.Cell, parts engine.Parts) (cluster.Provider, error) {
		p, err := provider(cell, parts)
		return watched{p, func(c cluster.Cluster) { last = c }}, err
	}
	together := func() [2]judge.Outcome {
		var runs sync.WaitGroup
		var out [2]judge.Outcome
		for i := range out {
			runs.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), runLimit)
				defer cancel()
				o, err := r.Run(ctx, r.cell, r.parts, i+1)
				if err != nil {
					t.Error(err)
					return
				}
				out[i] = o.Run.Verdict.Outcome
				t.Logf("%s: %q", out[i], o.Run.Verdict.Reasons)
			})
		}
		runs.Wait()
		return out
	}
	if got := together(); got[0] != judge.Pass || got[1] != judge.Pass {
		t.Errorf("two runs side by side: %v", got)
	}
	if n := r.said.count("starting a cluster"); n != 1 {
		t.Errorf("%d clusters were started for two runs", n)
	}
	once := sync.OnceFunc(func() {
		if err := kill("etcd")(t.Context(), last); err != nil {
			t.Error(err)
		}
	})
	r.said.call(func(line string) {
		if line == workload.StepQuiet {
			once()
		}
	})
	if got := together(); got[0] != judge.Invalid && got[1] != judge.Invalid {
		t.Errorf("two runs whose etcd was killed: %v", got)
	}
	r.said.call(nil)
	if got := together(); got[0] != judge.Pass || got[1] != judge.Pass {
		t.Errorf("two runs after that: %v", got)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	r.nothingLeft()
}

// watched tells of every cluster that comes up.
type watched struct {
	cluster.Provider
	told func(cluster.Cluster)
}

func (w watched) Up(ctx context.Context, o cluster.Options) (cluster.Cluster, error) {
	c, err := w.Provider.Up(ctx, o)
	if err == nil {
		w.told(c)
	}
	return c, err
}

// count is how many lines contain the text.
func (p *progress) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (p *progress) call(on func(line string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
}
