package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{VersionLabel: "v1"}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func names(pods []*corev1.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestPolicyChanges(t *testing.T) {
	now := time.Unix(100, 0)
	running := []*corev1.Pod{pod("a", corev1.PodRunning), pod("b", corev1.PodRunning), pod("c", corev1.PodRunning)}
	for name, c := range map[string]struct {
		policy   policy
		pods     []*corev1.Pod
		marked   string
		up, down string
	}{
		"open readies all that run":                {policy{open: true}, append(slices.Clone(running), pod("d", corev1.PodPending)), "a", "b c", ""},
		"hold 0 readies none":                      {policy{limit: 0}, running, "", "", ""},
		"hold 2 readies up to two":                 {policy{limit: 2}, running, "a", "b", ""},
		"hold 2 unreadies the third":               {policy{limit: 2}, running, "a b c", "", "c"},
		"hold more than exist readies all":         {policy{limit: 9}, running, "", "a b c", ""},
		"frozen readies none and unreadies none":   {policy{frozen: true}, running, "a", "", ""},
		"a ramp before its tick readies none":      {policy{every: time.Second, next: now.Add(1)}, running, "", "", ""},
		"a ramp at its tick readies one":           {policy{every: time.Second, next: now}, running, "a", "b", ""},
		"a late ramp still readies only one":       {policy{every: time.Second, next: now.Add(-5 * time.Second)}, running, "", "a", ""},
		"a ramp with nothing left readies none":    {policy{every: time.Second, next: now}, running, "a b c", "", ""},
		"a start-up readies what runs for so long": {policy{after: 2 * time.Second}, running, "", "a b", ""},
		"a start-up leaves ready pods alone":       {policy{after: time.Second}, running, "a b", "c", ""},
		"no pods":                                  {policy{open: true}, nil, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReadiness(nil, clocktesting.NewFakeClock(now))
			for _, n := range strings.Fields(c.marked) {
				r.marked[types.UID(n)] = true
			}
			for _, p := range c.pods { // a runs for 3 s, b for 2 s, c for 1 s
				r.running[p.UID] = now.Add(-time.Duration('d'-p.Name[0]) * time.Second)
			}
			up, down, _ := r.changes(c.policy, c.pods, now)
			if names(up) != c.up || names(down) != c.down {
				t.Errorf("up %q down %q, want %q and %q", names(up), names(down), c.up, c.down)
			}
		})
	}
}

func TestAStartUpSaysWhenTheNextPodIsDue(t *testing.T) {
	now := time.Unix(100, 0)
	r := NewReadiness(nil, clocktesting.NewFakeClock(now))
	pods := []*corev1.Pod{pod("a", corev1.PodRunning), pod("b", corev1.PodRunning)}
	r.running["a"], r.running["b"] = now.Add(-3*time.Second), now.Add(-time.Second)
	up, _, next := r.changes(policy{after: 4 * time.Second}, pods, now)
	if names(up) != "" || !next.Equal(now.Add(time.Second)) {
		t.Errorf("readies %q and then at %s, want none and a second later", names(up), next)
	}
}

func TestARefusedPodIsNotReady(t *testing.T) {
	r := NewReadiness(nil, clocktesting.NewFakeClock(time.Unix(100, 0)))
	pods := func() []*corev1.Pod { return []*corev1.Pod{pod("a", corev1.PodRunning), pod("b", corev1.PodRunning)} }
	r.marked["a"] = true
	r.Refuse("a", true)
	if got := names(r.allowed(pods())); got != "b" {
		t.Errorf("allowed %q, want b", got)
	}
	if got := names(r.forbidden(pods())); got != "a" {
		t.Errorf("forbidden %q, want a, which is ready", got)
	}
	r.Refuse("a", false)
	if got := names(r.forbidden(pods())); got != "" {
		t.Errorf("forbidden %q after it was allowed again", got)
	}
}

// TestARefusalOfOneVersion: the pods of a StatefulSet keep their name.
func TestARefusalOfOneVersion(t *testing.T) {
	r := NewReadiness(nil, clocktesting.NewFakeClock(time.Unix(100, 0)))
	was, is := pod("a", corev1.PodRunning), pod("a", corev1.PodRunning)
	was.Labels[VersionLabel], is.Labels[VersionLabel] = "v1", "v2"
	r.RefuseAt("a", "v2", true)
	if got := r.allowed([]*corev1.Pod{was, is}); len(got) != 1 || got[0] != was {
		t.Errorf("%d pods are allowed, want the one of v1", len(got))
	}
}

func TestOfVersionLeavesOutWhatGoesAway(t *testing.T) {
	gone := pod("b", corev1.PodRunning)
	gone.DeletionTimestamp = &metav1.Time{}
	other := pod("c", corev1.PodRunning)
	other.Labels[VersionLabel] = "v2"
	if got := names(ofVersion([]*corev1.Pod{pod("d", corev1.PodRunning), gone, other, pod("a", corev1.PodRunning)}, "v1")); got != "a d" {
		t.Errorf("got %q, want the pods of v1 that stay, by name", got)
	}
}

// statusClient counts the status patches that would reach the API server.
type statusClient struct {
	client.Client
	mu      sync.Mutex
	patched []string
}

func (c *statusClient) Status() client.SubResourceWriter { return statusWriter{c: c} }

type statusWriter struct {
	client.SubResourceWriter
	c *statusClient
}

func (w statusWriter) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	body, err := p.Data(o)
	if err != nil {
		return err
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.patched = append(w.c.patched, fmt.Sprintf("%s %t", o.GetName(), strings.Contains(string(body), `"True"`)))
	return nil
}

func (c *statusClient) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.patched)
}

// stalePods never shows what was marked: the watch lags for ever.
type stalePods struct{ pods []*corev1.Pod }

func (s stalePods) Pods(context.Context) (func() []*corev1.Pod, <-chan struct{}, error) {
	return func() []*corev1.Pod { return s.pods }, make(chan struct{}), nil
}

func TestRampReadiesOnePodEachTickThoughTheWatchLags(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(100, 0))
	c := &statusClient{}
	r := NewReadiness(c, clock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- r.Run(ctx, stalePods{[]*corev1.Pod{pod("a", corev1.PodRunning), pod("b", corev1.PodRunning)}})
	}()
	r.Ramp("v1", time.Second)
	for tick, want := range []string{"a true", "b true"} {
		await(t, clock.HasWaiters)
		clock.Step(time.Second)
		await(t, func() bool { return len(c.seen()) > tick })
		if got := c.seen(); len(got) != tick+1 || got[tick] != want {
			t.Fatalf("after tick %d: %v, want %q last", tick+1, got, want)
		}
	}
	r.Hold("v1", 1)
	await(t, func() bool { return len(c.seen()) == 3 })
	if got := c.seen()[2]; got != "b false" {
		t.Errorf("hold 1 did %q, want the last pod unready", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

func await(t *testing.T, cond func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return cond(), nil })
	if err != nil {
		t.Fatal("not reached in 10 s")
	}
}

// noPods stands for an informer that is ended before it has synced.
type noPods struct{}

func (noPods) Pods(ctx context.Context) (func() []*corev1.Pod, <-chan struct{}, error) {
	return nil, nil, context.Cause(ctx)
}

// A script that fails at once must not be told as a failure of the readiness.
func TestAnEndBeforeTheBeginIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewReadiness(nil, clocktesting.NewFakeClock(time.Unix(100, 0))).Run(ctx, noPods{}); err != nil {
		t.Error(err)
	}
}
