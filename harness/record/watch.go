package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reckon.dev/reckon/harness/recording"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Second
	// unservedTries is how often a resource may be unknown at the start: a
	// custom resource is served some moments after it says so.
	unservedTries = 5
	// openLimit bounds the wait for the server's answer to a watch.
	openLimit = 15 * time.Second
)

// errNoAnswer: the server took the request for a watch and said nothing.
var errNoAnswer = fmt.Errorf("the server did not answer within %s", openLimit)

// watch records one resource: it lists, follows the changes, resumes at the
// version it had when cut off, and lists anew when that version has expired.
type watch struct {
	r    *Recorder
	srv  *server
	res  Resource
	name string
	live *live
	gap  gap

	// Of the goroutine that runs the watch.
	scratch []byte
	lasting bool // the current stream has proved to last
}

func newWatch(r *Recorder, srv *server, res Resource) *watch {
	if res.Trim == nil {
		res.Trim = TrimObject
		if res.Name() == "pods" {
			res.Trim = TrimPod
		}
	}
	return &watch{r: r, srv: srv, res: res, name: res.Name(), live: newLive()}
}

// run records until ctx ends. It reports once, when the watch is established
// or cannot be; startCtx bounds that.
func (w *watch) run(ctx, startCtx context.Context, ready func(error)) {
	defer w.live.end()
	defer w.endGap()
	s, err := w.begin(ctx, startCtx)
	if err != nil {
		ready(fmt.Errorf("watching %s: %w", w.name, err))
		return
	}
	ready(nil)
	err = w.follow(ctx, s)
	listed := !expired(err)
	backoff := minBackoff
	for ctx.Err() == nil {
		err := w.resume(ctx, &listed)
		if w.lasting {
			backoff = minBackoff
		}
		w.lasting = false
		listed = listed && !expired(err)
		w.pause(ctx, backoff)
		backoff = min(2*backoff, maxBackoff)
	}
}

// begin lists and establishes the first watch.
func (w *watch) begin(ctx, startCtx context.Context) (*stream, error) {
	for try := 1; ; try++ {
		err := w.list(startCtx)
		if err == nil {
			var s *stream
			if s, err = w.open(ctx, startCtx); err == nil {
				return s, nil
			}
		}
		if refused(err) || apierrors.IsNotFound(err) && try == unservedTries {
			return nil, err
		}
		w.pause(startCtx, min(minBackoff<<min(try, 4), maxBackoff))
		if startCtx.Err() != nil {
			return nil, fmt.Errorf("%w (last: %w)", context.Cause(startCtx), err)
		}
	}
}

// resume establishes the watch again, after a new list if the last version has
// expired, and follows it to its end.
func (w *watch) resume(ctx context.Context, listed *bool) error {
	if !*listed {
		if err := w.list(ctx); err != nil {
			return err
		}
		*listed = true
	}
	openCtx, cancel := context.WithTimeoutCause(ctx, openLimit, errNoAnswer)
	defer cancel()
	s, err := w.open(ctx, openCtx)
	if err != nil {
		return err
	}
	return w.follow(ctx, s)
}

// open establishes a watch that lasts as long as ctx. openCtx bounds the wait
// for the server's answer.
func (w *watch) open(ctx, openCtx context.Context) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(openCtx, cancel)
	s, err := w.srv.watch(ctx, w.res, w.live.version())
	switch {
	case err != nil && openCtx.Err() != nil:
		err = context.Cause(openCtx)
	case err == nil && !detach():
		s.close()
		err = context.Cause(openCtx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s.cancel = cancel
	w.live.stream()
	return s, nil
}

// follow records the events of an established watch until it ends. Meanwhile
// the gap, if one is open, is closed as soon as the backlog is worked off.
func (w *watch) follow(ctx context.Context, s *stream) error {
	followed, cancel := context.WithCancel(ctx)
	caught := make(chan struct{})
	go func() {
		defer close(caught)
		w.closeGap(followed)
	}()
	var err error
	for err == nil {
		err = w.receive(s)
	}
	s.close()
	cancel()
	<-caught
	if ctx.Err() == nil {
		w.openGap(err)
	}
	return err
}

// receive records one event.
func (w *watch) receive(s *stream) error {
	line, err := s.next()
	if err != nil {
		return err
	}
	t := w.r.queue.take()
	state, err := w.decode(line, time.Duration(t.fact.T))
	if err != nil || state.Change == "" {
		t.drop()
	} else {
		t.keep(&state.Object)
	}
	if err == nil {
		w.lasting = true
		w.live.apply(state)
	}
	return err
}

var changes = map[string]recording.Change{
	"ADDED": recording.Added, "MODIFIED": recording.Modified, "DELETED": recording.Deleted,
}

// decode reads an event; that of a bookmark has a version and no change.
func (w *watch) decode(line []byte, at time.Duration) (State, error) {
	kind, object, err := event(line)
	if err != nil {
		return State{}, err
	}
	change := changes[string(kind)]
	switch {
	case string(kind) == "ERROR":
		return State{}, statusError(500, object)
	case change == "" && string(kind) != "BOOKMARK":
		return State{}, fmt.Errorf("unknown event %q", kind)
	}
	return w.state(change, object, at)
}

// state makes the state of an object, trimmed, in memory of its own.
func (w *watch) state(change recording.Change, object []byte, at time.Duration) (State, error) {
	id, err := identify(object)
	if err != nil {
		return State{}, err
	}
	state := State{At: at, Object: recording.Object{Change: change, Resource: w.name, RV: id.version}}
	if change == "" {
		return state, nil
	}
	if w.scratch, err = w.res.Trim(w.scratch[:0], object); err != nil {
		return State{}, err
	}
	state.Body = bytes.Clone(w.scratch)
	state.Namespace, state.Name = w.live.names(id)
	return state, nil
}

// list records every object as listed and, if the resource was listed before,
// what has gone since as deleted. When exactly that went is unknown: it gets
// the version of the list.
func (w *watch) list(ctx context.Context) error {
	w.gap.lose()
	var states []State
	version, err := w.srv.list(ctx, w.res, acceptWhole, func(object []byte) error {
		state, err := w.state(recording.Listed, object, 0)
		states = append(states, state)
		return err
	})
	if err != nil {
		return err
	}
	gone := w.live.keys()
	for _, state := range states {
		delete(gone, state.key())
		w.put(state)
	}
	for key := range gone {
		if state, ok := w.live.get(key); ok {
			state.Change, state.RV = recording.Deleted, version
			w.put(state)
		}
	}
	w.live.apply(State{At: w.r.now(), Object: recording.Object{RV: version}})
	return nil
}

// put records a state that did not come from the stream.
func (w *watch) put(state State) {
	t := w.r.queue.take()
	state.At = time.Duration(t.fact.T)
	t.keep(&state.Object)
	w.live.apply(state)
}

func (w *watch) pause(ctx context.Context, d time.Duration) {
	timer := w.r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// expired: the server no longer knows what came after the version we had.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// refused: no further try will be answered differently.
func refused(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err) || apierrors.IsNotAcceptable(err)
}

// orderly: the server itself ended the stream, so it was alive until then.
func orderly(err error) bool {
	var status apierrors.APIStatus
	return err == io.EOF || errors.As(err, &status)
}
