package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/cluster"
)

// PodWatcher delivers pods as they change: the latest state of each pod of the
// namespace, again after every change, until the context ends.
type PodWatcher interface {
	// Pods returns the pods that exist now and a channel that is signalled
	// (never blocked on) after any of them changed.
	Pods(ctx context.Context) (list func() []*corev1.Pod, changed <-chan struct{}, err error)
}

// policy says how many pods of a version may be ready.
type policy struct {
	open   bool
	frozen bool
	limit  int
	every  time.Duration // ramp: one more pod each, 0 for none
	next   time.Time     // when the ramp may ready its next pod
	after  time.Duration // start-up: each pod so long after it runs, 0 for none
}

// Readiness decides which pods are ready: exactly k of n, one more every d, or
// each pod d after it runs.
// It never readies a pod that is being deleted.
type Readiness struct {
	client client.Client
	clock  clock.Clock

	mu       sync.Mutex
	policies map[string]policy
	poke     chan struct{}
	// marked is what we wrote last: only we write the gate, and a watch that
	// lags must not make us ready a pod more than was asked for. Owned by Run.
	marked map[types.UID]bool
	// running is when each pod was first seen to run. Owned by Run.
	running map[types.UID]time.Time
	// refused are names of pods that are not to become ready, at any version ("")
	// or at one.
	refused map[refusal]bool
}

// NewReadiness makes a Readiness that holds every pod unready until told otherwise.
func NewReadiness(c client.Client, clk clock.Clock) *Readiness {
	return &Readiness{client: c, clock: clk, policies: map[string]policy{}, poke: make(chan struct{}, 1), marked: map[types.UID]bool{},
		running: map[types.UID]time.Time{}, refused: map[refusal]bool{}}
}

// Open readies every pod of the version as soon as it exists.
func (r *Readiness) Open(version string) { r.set(version, policy{open: true}) }

// Hold keeps exactly k pods of the version ready, as far as so many exist.
func (r *Readiness) Hold(version string, k int) { r.set(version, policy{limit: k}) }

// Freeze readies no further pod of the version: those that are ready stay so, and
// others take the place of none that goes.
func (r *Readiness) Freeze(version string) { r.set(version, policy{frozen: true}) }

// Ramp readies one more existing pod of the version every d, the first after d.
// A tick that finds no unready pod readies none and makes up for nothing.
func (r *Readiness) Ramp(version string, every time.Duration) {
	r.set(version, policy{every: every, next: r.clock.Now().Add(every)})
}

// After readies each pod of the version d after it runs, as an application with
// that start-up time.
func (r *Readiness) After(version string, d time.Duration) {
	r.set(version, policy{open: d <= 0, after: d})
}

// Refuse keeps the pod of that name from becoming ready, or lets it again. A pod
// that is ready already becomes unready.
func (r *Readiness) Refuse(name string, refuse bool) { r.RefuseAt(name, "", refuse) }

// RefuseAt is Refuse for pods of one version: those of a StatefulSet keep their name.
func (r *Readiness) RefuseAt(name, version string, refuse bool) {
	r.mu.Lock()
	r.refused[refusal{name, version}] = refuse
	r.mu.Unlock()
	r.wake()
}

type refusal struct{ name, version string }

func (r *Readiness) refuses(pod *corev1.Pod) bool {
	return r.refused[refusal{pod.Name, ""}] || r.refused[refusal{pod.Name, pod.Labels[VersionLabel]}]
}

func (r *Readiness) set(version string, p policy) {
	r.mu.Lock()
	r.policies[version] = p
	r.mu.Unlock()
	r.wake()
}

func (r *Readiness) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Run applies the policies until the context ends. A server that cannot be
// reached is asked again; the error is that of the first write that was refused.
func (r *Readiness) Run(ctx context.Context, pods PodWatcher) error {
	list, changed, err := pods.Pods(ctx)
	if ctx.Err() != nil {
		return nil // the script ended first, and its error is the one to tell
	}
	if err != nil {
		return fmt.Errorf("watching pods for their readiness: %w", err)
	}
	for {
		wake, err := r.apply(ctx, list())
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !passing(err) {
			return fmt.Errorf("setting pod readiness: %w", err)
		}
		if err != nil {
			wake = r.clock.After(retryInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-r.poke:
		case <-wake:
		}
	}
}

// retryInterval is the pause before the server is asked again.
const retryInterval = 100 * time.Millisecond

// passing: the server could not be reached, or not answer. It may be on its way
// back, and whether it is gone for good is for others to tell.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests
}

// apply brings the pods in line with the policies once, and returns a channel
// that fires when the next pod of a ramp or of a start-up is due.
func (r *Readiness) apply(ctx context.Context, pods []*corev1.Pod) (<-chan time.Time, error) {
	now := r.clock.Now()
	r.note(pods, now)
	var soonest time.Time
	due := func(t time.Time) {
		if !t.IsZero() && (soonest.IsZero() || t.Before(soonest)) {
			soonest = t
		}
	}
	for version, p := range r.snapshot() {
		mine := r.allowed(ofVersion(pods, version))
		up, down, next := r.changes(p, mine, now)
		due(next)
		for _, pod := range up {
			if err := r.mark(ctx, pod, true); err != nil {
				return nil, err
			}
		}
		for _, pod := range append(down, r.forbidden(ofVersion(pods, version))...) {
			if err := r.mark(ctx, pod, false); err != nil {
				return nil, err
			}
		}
		if p.every > 0 {
			due(r.advance(version, p, now).next)
		}
	}
	if soonest.IsZero() {
		return nil, nil
	}
	return r.clock.After(soonest.Sub(r.clock.Now())), nil
}

// note remembers since when each pod runs.
func (r *Readiness) note(pods []*corev1.Pod, now time.Time) {
	for _, pod := range pods {
		if _, ok := r.running[pod.UID]; !ok && pod.Status.Phase == corev1.PodRunning {
			r.running[pod.UID] = now
		}
	}
}

func (r *Readiness) allowed(pods []*corev1.Pod) []*corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(pods, r.refuses)
}

// forbidden are pods that are ready and must not be.
func (r *Readiness) forbidden(pods []*corev1.Pod) []*corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !r.refuses(pod) || !r.marked[pod.UID] })
}

// changes picks the pods to ready (oldest name first) and to unready, and says
// when the next pod's start-up ends.
func (r *Readiness) changes(p policy, pods []*corev1.Pod, now time.Time) (up, down []*corev1.Pod, next time.Time) {
	var ready, waiting []*corev1.Pod
	for _, pod := range pods {
		if r.marked[pod.UID] {
			ready = append(ready, pod)
		} else if pod.Status.Phase == corev1.PodRunning {
			waiting = append(waiting, pod)
		}
	}
	switch {
	case p.open:
		return waiting, nil, next
	case p.frozen:
		return nil, nil, next
	case p.after > 0:
		up, next = r.started(waiting, p.after, now)
		return up, nil, next
	case p.every > 0 && !now.Before(p.next):
		return waiting[:min(1, len(waiting))], nil, next
	case p.every > 0:
		return nil, nil, next
	case len(ready) < p.limit:
		return waiting[:min(p.limit-len(ready), len(waiting))], nil, next
	}
	return nil, ready[p.limit:], next
}

// started are the pods whose start-up is over, and when that of the next one is.
func (r *Readiness) started(waiting []*corev1.Pod, after time.Duration, now time.Time) (up []*corev1.Pod, next time.Time) {
	for _, pod := range waiting {
		switch at := r.running[pod.UID].Add(after); {
		case !now.Before(at):
			up = append(up, pod)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return up, next
}

// advance moves a ramp's next tick past now, unless the policy was replaced meanwhile.
func (r *Readiness) advance(version string, p policy, now time.Time) policy {
	for !now.Before(p.next) {
		p.next = p.next.Add(p.every)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if current := r.policies[version]; current.every == p.every && current.next.Before(p.next) {
		r.policies[version] = p
	}
	return p
}

func (r *Readiness) snapshot() map[string]policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]policy, len(r.policies))
	for k, v := range r.policies {
		out[k] = v
	}
	return out
}

// mark sets the gate condition. A pod that went away meanwhile is no error.
func (r *Readiness) mark(ctx context.Context, pod *corev1.Pod, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"lastTransitionTime":%q}]}}`,
		cluster.ReadinessGate, status, r.clock.Now().UTC().Format(time.RFC3339))
	target := &corev1.Pod{}
	target.Namespace, target.Name = pod.Namespace, pod.Name
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(body))
	if err := r.client.Status().Patch(ctx, target, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.marked[pod.UID] = ready
	return nil
}

func ofVersion(pods []*corev1.Pod, version string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		if pod.Labels[VersionLabel] == version && pod.DeletionTimestamp == nil {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
