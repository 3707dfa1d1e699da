//go:build linux

package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/toolchain"
	"reckon.dev/reckon/scenarios/rollback"
)

// kindRig is an engine on real clusters.
type kindRig struct {
	*engine.Engine
	t        *testing.T
	cell     plan.Cell
	parts    engine.Parts
	provider *kind.Provider
	said     *progress
}

// small is a rollback that a busy machine plays in a minute.
var small = []string{"replicas=3", "minPodsPerReplicaSet=1", "ramp=2s", "quiet=2s", "rate=50"}

func newKindRig(t *testing.T) *kindRig {
	t.Helper()
	if os.Getenv("RECKON_TEST_KIND") == "" {
		t.Skip("RECKON_TEST_KIND is not set: `make test-kind` sets it")
	}
	b := &toolchain.Builder{}
	r := &kindRig{t: t, said: &progress{}, provider: engine.Kind(filepath.Join(t.TempDir(), "clusters"), b, "", "build", func(string) {})}
	r.Engine = &engine.Engine{
		Results: t.TempDir(), Builder: b, Clock: clock.RealClock{}, Reckon: "test", Progress: r.said.add,
		Provider: func(plan.Cell, engine.Parts) (cluster.Provider, error) { return r.provider, nil },
	}
	d, err := drills.Find("rollback-window")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, plan.Overrides{Set: small, Provider: cluster.Kind})
	if err != nil {
		t.Fatal(err)
	}
	r.cell = p.Cells[0]
	if r.parts, err = r.Build(t.Context(), r.cell); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.nothingLeft(t) })
	return r
}

func (r *kindRig) nothingLeft(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	left, err := r.provider.List(ctx)
	if err != nil || len(left) > 0 {
		t.Errorf("clusters left: %v, %v", left, err)
	}
	removed, err := r.provider.Clean(ctx, false)
	if err != nil || len(removed) > 0 {
		t.Errorf("there was something to clean: %v, %v", removed, err)
	}
}

func (r *kindRig) judged() *engine.Outcome {
	r.t.Helper()
	out, err := r.Run(r.t.Context(), r.cell, r.parts, 1)
	if err != nil {
		r.t.Fatalf("no verdict: %v", err)
	}
	r.t.Logf("%s, %d facts, %.1f s: %s", out.Run.Verdict.Outcome, out.Run.Verdict.Facts, out.Run.Verdict.LastedSec, strings.Join(out.Run.Verdict.Reasons, "; "))
	return out
}

// One cluster serves all of these runs, one after the other: each finds nothing
// of those before, whatever became of them.
func TestRunsOnRealPods(t *testing.T) {
	r := newKindRig(t)
	for _, c := range []struct {
		name string
		play func(t *testing.T, r *kindRig)
	}{
		{"requests end in a verdict that is the same offline", passes},
		{"a client that is evicted makes the run invalid", clientGone},
		{"a controller that ends makes the run invalid", controllerGone},
		{"an interrupt leaves nothing", interrupted},
		{"a run after all of these passes", passes},
		{"an istiod that goes away leaves its claims open", istiodGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := *r // the engine's clusters are shared all the same
			r.t, r.Disturb = t, nil
			c.play(t, &r)
		})
	}
}

func passes(t *testing.T, r *kindRig) {
	out := r.judged()
	if out.Run.Verdict.Outcome != judge.Pass {
		t.Errorf("outcome %s", out.Run.Verdict.Outcome)
	}
	again, err := engine.Judge(out.Dir, engine.Prediction)
	if err != nil || again.Verdict.Outcome != out.Run.Verdict.Outcome || !slices.EqualFunc(again.Verdict.Claims, out.Run.Verdict.Claims, sameClaim) {
		t.Errorf("judged again: %v, %v", again.Verdict.Outcome, err)
	}
	due := int64(0)
	for _, m := range out.Run.Verdict.Measures {
		for _, p := range m.Periods {
			due += p.Due
		}
	}
	if due < 500 {
		t.Errorf("only %d requests are told of", due)
	}
}

func sameClaim(a, b judge.ClaimResult) bool {
	return a.ID == b.ID && a.Status == b.Status && a.Observed == b.Observed
}

// disturb deletes the pods of a label, at once, when the rollback begins: in a
// namespace, or where the namespace is not known before, everywhere.
func (r *kindRig) disturb(name, namespace, selector string) {
	r.Disturb = []engine.Disturbance{{
		Name: name, Step: rollback.StepRollback, Shared: true,
		Do: func(ctx context.Context, c cluster.Cluster) error { return deletePods(ctx, c, namespace, selector) },
	}}
}

func deletePods(ctx context.Context, c cluster.Cluster, namespace, selector string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err == nil && len(list.Items) == 0 {
		err = errors.New("no such pod")
	}
	now := int64(0)
	for _, p := range list.Items {
		err = errors.Join(err, client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	return err
}

// Clients keep their routes while istiod is away; what it did not deliver
// meanwhile nobody can tell.
func istiodGone(t *testing.T, r *kindRig) {
	r.disturb("istiod is killed", istio.Namespace, "app=istiod")
	out := r.judged()
	if out.Run.Verdict.Outcome != judge.Undecided {
		t.Errorf("outcome %s, want inconclusive", out.Run.Verdict.Outcome)
	}
	for _, c := range out.Run.Verdict.Claims {
		if open := c.Status == judge.Inconclusive; c.ID == "delivered" && !open || c.Status == judge.Broken {
			t.Errorf("claim %s is %s: %s", c.ID, c.Status, c.Why)
		}
	}
}

func clientGone(t *testing.T, r *kindRig) {
	r.disturb("the client is evicted", "", stage.HarnessLabel)
	out := r.judged()
	if v := out.Run.Verdict; v.Outcome != judge.Invalid || !strings.Contains(strings.Join(v.Reasons, " "), "traffic") {
		t.Errorf("%s: %q", v.Outcome, v.Reasons)
	}
}

// A controller that crashes is restarted by its kubelet, and is another one then.
func controllerGone(t *testing.T, r *kindRig) {
	r.disturb("the controller is killed", "", "app.kubernetes.io/name="+scenario.ArgoRollouts)
	out := r.judged()
	if v := out.Run.Verdict; v.Outcome != judge.Invalid || !strings.Contains(strings.Join(v.Reasons, " "), scenario.ArgoRollouts) {
		t.Errorf("%s: %q", v.Outcome, v.Reasons)
	}
}

func interrupted(t *testing.T, r *kindRig) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("ctrl-c")
	r.Progress = func(p engine.Progress) {
		if p.Text == rollback.StepUpgrade {
			time.AfterFunc(time.Second, func() { cancel(why) })
		}
	}
	defer func() { r.Progress = r.said.add }()
	_, err := r.Run(ctx, r.cell, r.parts, 1)
	if aborted, ok := errors.AsType[*engine.AbortError](err); !ok || !errors.Is(aborted, why) {
		t.Errorf("error %v", err)
	}
}
