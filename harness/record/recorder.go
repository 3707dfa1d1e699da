// Package record is the live recorder: it lists and watches API resources,
// samples metrics, stamps what the script does, and writes all of it as facts
// of a recording, on one monotonic clock, in order of receipt.
//
// It owns its watch loop. client-go's RetryWatcher hides what a recording has
// to show: that a watch was cut and resumed, and the bookmarks that prove it
// alive; and it retries for ever, silently, when the server answers a resumed
// watch with 410. Here every cut becomes a gap fact with its bounds.
//
// Scripts wait on the same stream that is recorded (Wait), so a fault can be
// placed at an event and not at a time.
package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/recording"
)

const (
	defaultStartTimeout = 30 * time.Second
	flushInterval       = time.Second
	// maxLogLine bounds one line of a component's log, in bytes.
	maxLogLine = 64 << 10
)

// ErrStopped is returned by waits that the end of the recorder cut short.
var ErrStopped = errors.New("the recorder stopped")

// ErrNotRecorded is returned for a resource that is not being recorded.
var ErrNotRecorded = errors.New("resource is not recorded")

// Config says what is recorded, from where, to where.
type Config struct {
	// Writer takes the facts. The caller closes it, after Stop.
	Writer *recording.Writer
	// REST is the API server. Timeout and rate limits in it do not apply to
	// watches.
	REST *rest.Config
	// Resources are watched, each with one list and watch of its own.
	Resources []Resource
	Samplers  []Sampler
	// Clock stamps facts and drives samplers; nil is the real one.
	Clock clock.WithTicker
	// Base is t = 0, the Base of the recording's header, with its monotonic
	// reading.
	Base time.Time
	// StartTimeout bounds Start; 0 means 30 s.
	StartTimeout time.Duration
	// OnFault is called once, from a goroutine of the recorder, when the
	// recording can no longer be written. It must not call Stop.
	OnFault func(error)
}

// Resource is one watched resource.
type Resource struct {
	GVR schema.GroupVersionResource
	// Namespace limits the watch; "" is all of them, or a cluster resource.
	Namespace string
	// Trim shortens bodies; nil is TrimPod for pods and TrimObject otherwise.
	Trim Trim
}

// Name is the resource's name in a recording: plural.group, "pods" for the
// core group.
func (r Resource) Name() string { return r.GVR.GroupResource().String() }

// Recorder records until Stop. Its methods are safe for concurrent use.
type Recorder struct {
	cfg     Config
	clock   clock.WithTicker
	queue   *queue
	watches []*watch

	ctx    context.Context // of everything that observes; ends at Stop
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	stop    sync.Once
	stopped chan struct{}

	mu  sync.Mutex
	err error
}

// New checks the configuration and makes a recorder that takes steps, calls,
// logs and faults at once and observes from Start on. Stop must be called in
// any case.
func New(cfg Config) (*Recorder, error) {
	switch {
	case cfg.Writer == nil:
		return nil, errors.New("recorder: no writer")
	case cfg.Base.IsZero():
		return nil, errors.New("recorder: no base time")
	case cfg.REST == nil && len(cfg.Resources) > 0:
		return nil, errors.New("recorder: no API server to watch")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = defaultStartTimeout
	}
	r := &Recorder{cfg: cfg, clock: cfg.Clock, stopped: make(chan struct{})}
	if err := r.addWatches(); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.queue = newQueue(r.now)
	go r.write()
	return r, nil
}

func (r *Recorder) addWatches() error {
	if len(r.cfg.Resources) == 0 {
		return nil
	}
	srv, err := newServer(r.cfg.REST)
	if err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	seen := map[string]bool{}
	for _, res := range r.cfg.Resources {
		id := res.Name() + " in " + res.Namespace
		if seen[id] {
			return fmt.Errorf("recorder: %s is to be recorded twice", id)
		}
		seen[id] = true
		r.watches = append(r.watches, newWatch(r, srv, res))
	}
	return nil
}

// Start begins to observe and returns once every initial list is recorded,
// every watch is established and every sampler has sampled: the script's first
// stimulus comes after it. It fails for a resource that the server does not
// serve and when something is not ready within the start timeout; Stop is due
// even then. When ctx ends later, the recorder stops observing.
func (r *Recorder) Start(ctx context.Context) error {
	context.AfterFunc(ctx, r.cancel)
	startCtx, cancel := context.WithTimeoutCause(r.ctx, r.cfg.StartTimeout,
		fmt.Errorf("not ready within %s", r.cfg.StartTimeout))
	defer cancel()

	barrier := newBarrier(len(r.watches) + len(r.cfg.Samplers))
	for _, w := range r.watches {
		r.tasks.Go(func() { w.run(r.ctx, startCtx, barrier.ready) })
	}
	for _, s := range r.cfg.Samplers {
		r.tasks.Go(func() { r.sample(r.ctx, startCtx, s, barrier.ready) })
	}
	r.tasks.Go(r.flush)
	if err := barrier.wait(); err != nil {
		r.cancel()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("starting the recorder: %w", err)
	}
	return nil
}

// Stop ends all watches and samplers and returns when every fact received so
// far has been handed to the writer. Facts offered later are dropped. A gap
// still open ends now and counts as lossy. The error is that of the recording,
// or of ctx when the recorder did not stop in its time.
func (r *Recorder) Stop(ctx context.Context) error {
	r.stop.Do(func() {
		r.cancel()
		go func() {
			r.tasks.Wait()
			r.queue.close()
		}()
	})
	select {
	case <-r.stopped:
		return r.Err()
	case <-ctx.Done():
		return fmt.Errorf("stopping the recorder: %w", context.Cause(ctx))
	}
}

// Err is the error that keeps the recording from being written, nil if none.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Now is the present as an offset from the base.
func (r *Recorder) Now() time.Duration { return r.now() }

func (r *Recorder) now() time.Duration { return r.clock.Now().Sub(r.cfg.Base) }

// StepBegin records the begin of a script step.
func (r *Recorder) StepBegin(name string) {
	r.emit(recording.Fact{Step: &recording.Step{Name: name, Phase: "begin"}})
}

// StepEnd records the end of a script step and how it ended.
func (r *Recorder) StepEnd(name string, err error) {
	step := &recording.Step{Name: name, Phase: "end"}
	if err != nil {
		step.Error = err.Error()
	}
	r.emit(recording.Fact{Step: step})
}

// Call records a write of ours, at the time of its answer.
func (r *Recorder) Call(c recording.Call) {
	c.Body = validBody(c.Body)
	r.emit(recording.Fact{Call: &c})
}

// Fault records what makes the run invalid.
func (r *Recorder) Fault(what, detail string) {
	r.emit(recording.Fact{Fault: &recording.Fault{What: what, Detail: detail}})
}

// LogLine returns a function that records lines of the component's log. Lines
// are cut at 64 KiB.
func (r *Recorder) LogLine(component string) func(line string) { return r.LogLineOf(component, 0) }

// LogLineOf is LogLine for one of a component's processes, see recording.Log.
func (r *Recorder) LogLineOf(component string, process int) func(line string) {
	return func(line string) {
		if len(line) > maxLogLine {
			line = line[:maxLogLine]
		}
		r.emit(recording.Fact{Log: &recording.Log{Component: component, Process: process, Line: line}})
	}
}

// emit stamps the facts with one and the same time and queues them.
func (r *Recorder) emit(facts ...recording.Fact) {
	tickets := make([]*ticket, 0, len(facts))
	for _, f := range facts {
		if f.Sample != nil && !finite(f.Sample.Value) {
			continue // JSON has no such numbers
		}
		tickets = append(tickets, &ticket{fact: f})
	}
	r.queue.put(tickets...)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// write moves facts from the queue to the writer until the queue is closed.
func (r *Recorder) write() {
	defer close(r.stopped)
	for t := range r.queue.tickets {
		t.pending.Wait()
		if !t.dropped {
			r.fail(r.cfg.Writer.Append(t.fact))
		}
	}
	r.fail(r.cfg.Writer.Flush())
}

// flush makes sure that a recorder that is killed leaves a file that lacks no
// more than its last second.
func (r *Recorder) flush() {
	tick := r.clock.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C():
			r.fail(r.cfg.Writer.Flush())
		case <-r.ctx.Done():
			return
		}
	}
}

// fail keeps the first write error and reports it once.
func (r *Recorder) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	first := r.err == nil
	if first {
		r.err = fmt.Errorf("the recording could not be written: %w", err)
	}
	err = r.err
	r.mu.Unlock()
	if first && r.cfg.OnFault != nil {
		r.cfg.OnFault(err)
	}
}

// barrier waits for n reports, or for the first error among them.
type barrier struct {
	reports chan error
	n       int
}

func newBarrier(n int) *barrier { return &barrier{make(chan error, n), n} }

func (b *barrier) ready(err error) { b.reports <- err }

func (b *barrier) wait() error {
	for range b.n {
		if err := <-b.reports; err != nil {
			return err
		}
	}
	return nil
}
