package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tailLines is how much of a log an error carries.
const tailLines = 30

// Process is one child.
type Process struct {
	spec     Spec
	cmd      *exec.Cmd
	identity Identity
	started  time.Time
	log      *logSink
	sup      *Supervisor

	asked atomic.Bool // somebody asked for the end
	done  chan struct{}
	err   error // written before done is closed

	// mu guards signalling against reaping: between the two, the process id
	// could belong to somebody else.
	mu     sync.Mutex
	reaped bool
}

// ExitError tells how a child ended by itself. Ending with status 0 is an error
// too: no program that is run here is meant to end.
type ExitError struct {
	Name    string
	PID     int
	State   *os.ProcessState
	LogPath string
	Tail    []string
}

// Error holds the exit status and the end of the log.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (pid %d) ended by itself: %s", e.Name, e.PID, e.State)
	if len(e.Tail) > 0 {
		fmt.Fprintf(&b, "; the last %d lines of %s:\n%s", len(e.Tail), e.LogPath, strings.Join(e.Tail, "\n"))
	} else {
		fmt.Fprintf(&b, "; its log %s is empty", e.LogPath)
	}
	return b.String()
}

// launch starts the child. The caller holds s.mu.
func (s *Supervisor) launch(spec Spec) (*Process, error) {
	sink, err := openLog(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Stdout, cmd.Stderr = sink.writer, sink.writer
	if spec.Stdin != nil { // a nil *os.File in an interface would not be none
		cmd.Stdin = spec.Stdin
	}
	if spec.Stdout != nil {
		cmd.Stdout = spec.Stdout
	}
	cmd.ExtraFiles = spec.Files
	cmd.SysProcAttr = attributes(spec.Detached)
	mark := s.opts.Mark
	mark.Name = spec.Name
	cmd.Env = append(append(append([]string{}, s.opts.BaseEnv...), spec.Env...), mark.env()...)
	start := cmd.Start
	if spec.Within != nil {
		start = func() error { return spec.Within(cmd.SysProcAttr, cmd.Start) }
	}
	if err := s.spawner.do(start); err != nil {
		if cmd.Process != nil { // it is there, and not as it is wanted
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		sink.abandon()
		return nil, err
	}
	p := &Process{spec: spec, cmd: cmd, log: sink, sup: s, started: s.opts.Clock.Now(), done: make(chan struct{})}
	sink.started()
	// The child cannot be reaped before wait runs, so this reads the right one
	// even if it is dead already.
	if p.identity, err = identify(cmd.Process.Pid); err != nil {
		p.identity = Identity{PID: cmd.Process.Pid}
	}
	go p.wait()
	return p, nil
}

// wait sees the child to its end.
func (p *Process) wait() {
	awaitExit(p.identity.PID)
	p.mu.Lock()
	// The dead child still holds its id and its group: whatever it left behind
	// in the group can be killed without hitting a stranger.
	signalGroup(p.identity.PID, syscall.SIGKILL)
	waitErr := p.cmd.Wait()
	p.reaped = true
	p.mu.Unlock()
	p.log.drain()
	if !p.asked.Load() {
		p.err = p.exitError(waitErr)
		p.sup.notify(p, p.err)
	}
	close(p.done)
}

func (p *Process) exitError(waitErr error) error {
	if p.cmd.ProcessState == nil {
		return fmt.Errorf("%s (pid %d): %w", p.spec.Name, p.identity.PID, waitErr)
	}
	return &ExitError{Name: p.spec.Name, PID: p.identity.PID, State: p.cmd.ProcessState, LogPath: p.spec.LogPath, Tail: p.Tail(tailLines)}
}

// Name is Spec.Name.
func (p *Process) Name() string { return p.spec.Name }

// PID is the process id.
func (p *Process) PID() int { return p.identity.PID }

// Identity names the process for good.
func (p *Process) Identity() Identity { return p.identity }

// Path is the binary.
func (p *Process) Path() string { return p.spec.Path }

// LogPath is the file that the child writes to.
func (p *Process) LogPath() string { return p.spec.LogPath }

// Started is when the child was started.
func (p *Process) Started() time.Time { return p.started }

// Done is closed when the child has ended and its log is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the child has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err is nil while the child runs and after an end that was asked for, and an
// *ExitError after it ended by itself.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Tail returns the last n lines that the child wrote.
func (p *Process) Tail(n int) []string { return tail(p.spec.LogPath, p.log.offset, n) }

// Stop sends SIGTERM, and SIGKILL when the grace period or the context ends. It
// returns when the child is gone. Stopping a child that has ended is fine.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	p.Ask(syscall.SIGTERM)
	timer := p.sup.opts.Clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C():
	case <-ctx.Done():
	}
	return p.Kill(context.WithoutCancel(ctx))
}

// Ask sends a signal that asks for the end, and does not wait for it. A child that
// was stopped with SIGSTOP counts as asked: it ends when it is killed.
func (p *Process) Ask(sig syscall.Signal) error {
	p.asked.Store(true)
	return p.signal(sig)
}

// Kill sends SIGKILL and returns when the child is gone.
func (p *Process) Kill(ctx context.Context) error {
	p.kill()
	return killAll(ctx, []*Process{p})
}

func (p *Process) kill() {
	p.Ask(syscall.SIGKILL)
}

// Signal sends a signal to the child and its group without asking for its end,
// e.g. SIGSTOP and SIGCONT for a drill that freezes a controller.
func (p *Process) Signal(sig syscall.Signal) error { return p.signal(sig) }

func (p *Process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return signalGroup(p.identity.PID, sig)
}
