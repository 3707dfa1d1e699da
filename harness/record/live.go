package record

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// State is one state of one object, as it was recorded. Its body must not be
// changed.
type State struct {
	// At is the receipt time since the base.
	At time.Duration
	recording.Object
}

func (s *State) key() string { return s.Namespace + "/" + s.Name }

// Wait returns the first state that matches: of the objects of the resource
// (plural.group) in the namespace ("" is all), the current ones and then every
// one that is received, however short-lived. Deleted objects are offered with
// their last body. match runs in the recorder's stream, one call at a time,
// and must be quick. The error is ErrNotRecorded, ErrStopped or that of ctx.
func (r *Recorder) Wait(ctx context.Context, resource, namespace string, match func(State) bool) (State, error) {
	watches := r.find(resource)
	if len(watches) == 0 {
		return State{}, fmt.Errorf("%s: %w", resource, ErrNotRecorded)
	}
	wt := &waiter{found: make(chan State, 1)}
	wt.match = func(s State) bool {
		return s.Change != "" && (namespace == "" || s.Namespace == namespace) && match(s)
	}
	for _, w := range watches {
		defer w.live.forget(wt)
		for _, s := range w.live.attach(wt) {
			wt.offer(s)
		}
	}
	s, err := wt.wait(ctx, watches[0].live)
	if err != nil {
		return s, fmt.Errorf("waiting for %s: %w", resource, err)
	}
	return s, nil
}

// WaitGone returns once the object does not exist.
func (r *Recorder) WaitGone(ctx context.Context, resource, namespace, name string) error {
	watches := r.find(resource)
	if len(watches) == 0 {
		return fmt.Errorf("%s: %w", resource, ErrNotRecorded)
	}
	for _, w := range watches {
		err := w.live.await(ctx, func() bool { return w.live.objects[namespace+"/"+name] == nil })
		if err != nil {
			return fmt.Errorf("waiting for the end of %s %s/%s: %w", resource, namespace, name, err)
		}
	}
	return nil
}

// Latest returns the last recorded body of an object that exists.
func (r *Recorder) Latest(resource, namespace, name string) (json.RawMessage, bool) {
	for _, w := range r.find(resource) {
		if s, ok := w.live.get(namespace + "/" + name); ok {
			return s.Body, true
		}
	}
	return nil, false
}

// Objects returns the last state of each object of the resource that exists in
// the namespace ("" is all), by namespace and name.
func (r *Recorder) Objects(resource, namespace string) []State {
	var out []State
	for _, w := range r.find(resource) {
		for _, s := range w.live.all() {
			if namespace == "" || s.Namespace == namespace {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// Sync returns when the recorder has received everything that the API server
// held when Sync was called, of the named resources or, with none named, of
// all, and no gap is open. The end of ctx is its only time limit. Success is a
// sign of life: a gap that follows does not begin before it. (An object
// that was created and deleted again at the very last moment is not held, and
// the two events of its life may still be under way.)
func (r *Recorder) Sync(ctx context.Context, resources ...string) error {
	watches := r.watches
	if len(resources) > 0 {
		watches = nil
		for _, name := range resources {
			found := r.find(name)
			if len(found) == 0 {
				return fmt.Errorf("%s: %w", name, ErrNotRecorded)
			}
			watches = append(watches, found...)
		}
	}
	for _, w := range watches {
		if err := w.syncAgain(ctx); err != nil {
			return fmt.Errorf("catching up with %s: %w", w.name, err)
		}
	}
	return nil
}

// Renewal returns a wait for the next time, from now on, that the resource's watches
// are established anew after a cut: what the server does to them when it changes how
// it serves the resource. The error of the wait is ErrStopped or that of its ctx.
func (r *Recorder) Renewal(resource string) (func(context.Context) error, error) {
	watches := r.find(resource)
	if len(watches) == 0 {
		return nil, fmt.Errorf("%s: %w", resource, ErrNotRecorded)
	}
	before := make([]int, len(watches))
	for i, w := range watches {
		before[i] = w.live.established()
	}
	return func(ctx context.Context) error {
		for i, w := range watches {
			if err := w.live.await(ctx, func() bool { return w.live.streams > before[i] }); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (r *Recorder) find(resource string) []*watch {
	var out []*watch
	for _, w := range r.watches {
		if w.name == resource {
			out = append(out, w)
		}
	}
	return out
}

// syncAgain repeats sync while the server cannot be asked, and waits for the
// end of the gap in which that was so.
func (w *watch) syncAgain(ctx context.Context) error {
	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		err := w.sync(ctx)
		switch {
		case err == nil:
			return w.awaitGapEnd(ctx)
		case ctx.Err() != nil || refused(err) || w.live.isEnded():
			return err
		}
		w.pause(ctx, backoff)
	}
}

func (w *watch) awaitGapEnd(ctx context.Context) error {
	for over := w.gap.pending(); over != nil; over = w.gap.pending() {
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// sync makes a consistent list and waits until the watch has caught up: it has
// delivered a version as high as that of every object in the list (one
// resource's events come in the order of their versions), and the deletion of
// every known object that is not in it.
func (w *watch) sync(ctx context.Context) error {
	begin := w.r.now()
	var newest uint64
	listed := map[string]bool{}
	version, err := w.srv.list(ctx, w.res, acceptMetadata, func(object []byte) error {
		id, err := identify(object)
		listed[string(id.key(nil))] = true
		newest = max(newest, id.version)
		return err
	})
	if err != nil {
		return err
	}
	stale := w.live.stale(version, listed)
	err = w.live.await(ctx, func() bool {
		if w.live.reached >= version {
			return true
		}
		for len(stale) > 0 {
			last := stale[len(stale)-1]
			if o := w.live.objects[last]; o != nil && o.RV <= version {
				return false
			}
			stale = stale[:len(stale)-1]
		}
		return w.live.reached >= newest
	})
	if err == nil {
		w.live.alive(begin)
	}
	return err
}

// live is the present state of one resource, as far as it was received.
type live struct {
	mu      sync.Mutex
	objects map[string]*State // by namespace/name
	reached uint64            // version up to which everything is known
	streams int               // how often a watch of it was established
	sign    time.Duration     // of the last sign of life
	waiters map[*waiter]bool
	changed chan struct{} // non-nil while somebody awaits any change; closed by it
	ended   chan struct{}
	scratch []byte
}

func newLive() *live {
	return &live{objects: map[string]*State{}, waiters: map[*waiter]bool{}, ended: make(chan struct{})}
}

// apply takes in a state, or with no change in it a mere version, and offers
// it to those who wait.
func (l *live) apply(s State) {
	l.mu.Lock()
	l.reached, l.sign = max(l.reached, s.RV), max(l.sign, s.At)
	switch s.Change {
	case "":
	case recording.Deleted:
		delete(l.objects, s.key())
	default:
		l.store(s)
	}
	waiters := make([]*waiter, 0, len(l.waiters))
	for wt := range l.waiters {
		waiters = append(waiters, wt)
	}
	l.wake()
	l.mu.Unlock()
	for _, wt := range waiters {
		wt.offer(s)
	}
}

// wake tells those who await any change of one. Holds the lock.
func (l *live) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// store overwrites the object's last state in place. Holds the lock.
func (l *live) store(s State) {
	if o := l.find(s.Namespace, s.Name); o != nil {
		*o = s
		return
	}
	l.objects[s.key()] = &s
}

// find looks an object up without allocating a key. Holds the lock.
func (l *live) find(namespace, name string) *State {
	l.scratch = append(append(append(l.scratch[:0], namespace...), '/'), name...)
	return l.objects[string(l.scratch)]
}

// names returns the strings of an identity, those of the known object if any.
func (l *live) names(id identity) (namespace, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scratch = id.key(l.scratch[:0])
	if o := l.objects[string(l.scratch)]; o != nil {
		return o.Namespace, o.Name
	}
	return string(id.namespace), string(id.name)
}

func (l *live) get(key string) (State, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.objects[key]; o != nil {
		return *o, true
	}
	return State{}, false
}

func (l *live) keys() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]bool, len(l.objects))
	for key := range l.objects {
		out[key] = true
	}
	return out
}

func (l *live) all() []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]State, 0, len(l.objects))
	for _, o := range l.objects {
		out = append(out, *o)
	}
	return out
}

// stale lists the objects known at a version that a list of it does not hold.
func (l *live) stale(version uint64, listed map[string]bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for key, o := range l.objects {
		if o.RV <= version && !listed[key] {
			out = append(out, key)
		}
	}
	return out
}

func (l *live) version() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached
}

// alive notes a sign of life.
func (l *live) alive(at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sign = max(l.sign, at)
}

func (l *live) lastSign() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sign
}

// established is how often a watch was.
func (l *live) established() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams
}

// stream notes that a watch was established.
func (l *live) stream() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams++
	l.wake()
}

// end wakes everybody who waits: nothing more will come.
func (l *live) end() { close(l.ended) }

func (l *live) isEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// await returns once the condition, which is evaluated with the lock held at
// every change, is true.
func (l *live) await(ctx context.Context, condition func() bool) error {
	for {
		l.mu.Lock()
		if condition() {
			l.mu.Unlock()
			return nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-l.ended:
			return ErrStopped
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// attach registers a waiter and returns what there is already, in one step, so
// that no state falls between.
func (l *live) attach(wt *waiter) []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[wt] = true
	out := make([]State, 0, len(l.objects))
	for _, o := range l.objects {
		out = append(out, *o)
	}
	return out
}

func (l *live) forget(wt *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiters, wt)
}

// waiter looks for one state.
type waiter struct {
	mu    sync.Mutex
	match func(State) bool
	done  bool
	found chan State
}

func (wt *waiter) offer(s State) {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if !wt.done && wt.match(s) {
		wt.done = true
		wt.found <- s
	}
}

func (wt *waiter) wait(ctx context.Context, l *live) (State, error) {
	select {
	case s := <-wt.found:
		return s, nil
	case <-l.ended:
		return State{}, ErrStopped
	case <-ctx.Done():
		return State{}, context.Cause(ctx)
	}
}
