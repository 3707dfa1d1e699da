package process

import (
	"runtime"
	"sync"
)

// spawner runs functions on one operating system thread that lives as long as
// the spawner.
//
// The parent death signal fires when the THREAD that forked the child ends, not
// the process (prctl(2), PR_SET_PDEATHSIG), and the Go runtime ends threads as
// it likes. So every supervised child is forked from a thread that we hold.
type spawner struct {
	work chan func()
	done chan struct{}
	once sync.Once
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	// Never unlocked: a goroutine that ends while locked ends its thread, and
	// with it whatever child might still be there.
	runtime.LockOSThread()
	for {
		select {
		case f := <-s.work:
			f()
		case <-s.done:
			return
		}
	}
}

// do runs f on the thread and waits for it.
func (s *spawner) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case s.work <- func() { result <- f() }:
		return <-result
	case <-s.done:
		return ErrClosed
	}
}

func (s *spawner) close() { s.once.Do(func() { close(s.done) }) }
