package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"k8s.io/utils/clock"
)

// Options configure a supervisor.
type Options struct {
	// Mark is put into the environment of every child.
	Mark Mark
	// BaseEnv is the environment that children start from. Nil means PATH and
	// the temporary directory of this process and nothing else.
	BaseEnv []string
	// Clock measures the grace period of Stop. Nil means the real clock.
	Clock clock.Clock
}

// Exit tells that a child ended although nobody asked it to.
type Exit struct {
	Process *Process
	Err     error
}

// exitsBuffer bounds the unread notifications. Whoever does not read the first
// ones learns nothing more from the later ones.
const exitsBuffer = 64

// Supervisor starts children and knows them all.
type Supervisor struct {
	opts    Options
	spawner *spawner
	exits   chan Exit

	mu        sync.Mutex
	closed    bool
	processes []*Process
}

// NewSupervisor makes a supervisor. It holds an operating system thread until
// it is closed.
func NewSupervisor(opts Options) *Supervisor {
	if opts.BaseEnv == nil {
		opts.BaseEnv = baseEnv()
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	return &Supervisor{opts: opts, spawner: newSpawner(), exits: make(chan Exit, exitsBuffer)}
}

func baseEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH")}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}

// Start starts a child. The context bounds the start only: the child lives
// until it ends, is stopped, or the supervisor is closed.
func (s *Supervisor) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if !supported {
		return nil, fmt.Errorf("process %s: %w", spec.Name, ErrUnsupported)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("process %s: %w", spec.Name, context.Cause(ctx))
	}
	// Held over the start: a child started while Close runs would be missed.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("process %s: %w", spec.Name, ErrClosed)
	}
	p, err := s.launch(spec)
	if err != nil {
		return nil, fmt.Errorf("process %s: %w", spec.Name, err)
	}
	s.forget()
	s.processes = append(s.processes, p)
	return p, nil
}

// forget drops children that are gone, so that a drill that restarts a
// controller a thousand times does not keep a thousand of them.
func (s *Supervisor) forget() {
	kept := s.processes[:0]
	for _, p := range s.processes {
		if p.Running() {
			kept = append(kept, p)
		}
	}
	clear(s.processes[len(kept):])
	s.processes = kept
}

// Exited delivers the children that ended without being asked to. It has one
// reader; anyone else watches Process.Done.
func (s *Supervisor) Exited() <-chan Exit { return s.exits }

// Running returns the children that have not ended.
func (s *Supervisor) Running() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Process
	for _, p := range s.processes {
		if p.Running() {
			out = append(out, p)
		}
	}
	return out
}

// Kill kills every child, detached ones too, and waits for their end.
func (s *Supervisor) Kill(ctx context.Context) error {
	return killAll(ctx, s.Running())
}

// Close kills every supervised child, leaves detached ones alone, and gives
// the thread back. No child can be started any more.
func (s *Supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	wasClosed := s.closed
	s.closed = true
	s.mu.Unlock()
	var doomed []*Process
	for _, p := range s.Running() {
		if !p.spec.Detached {
			doomed = append(doomed, p)
		}
	}
	err := killAll(ctx, doomed)
	if !wasClosed {
		s.spawner.close()
	}
	return err
}

func killAll(ctx context.Context, processes []*Process) error {
	for _, p := range processes {
		p.kill()
	}
	var errs []error
	for _, p := range processes {
		select {
		case <-p.Done():
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("process %s (pid %d) did not end: %w", p.Name(), p.PID(), ctx.Err()))
		}
	}
	return errors.Join(errs...)
}

func (s *Supervisor) notify(p *Process, err error) {
	select {
	case s.exits <- Exit{Process: p, Err: err}:
	default:
	}
}
