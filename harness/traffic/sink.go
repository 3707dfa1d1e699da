package traffic

import (
	"io"
	"sync"
)

// Sink writes lines from a goroutine of its own: a reader that does not keep up
// must not hold up what the lines tell of. What waits is bounded by what a run
// produces, some kilobytes a second.
type Sink struct {
	out    *Encoder
	failed func(error)

	mu    sync.Mutex
	lines []Line
	wake  chan struct{} // holds one: there are lines, or it is over
	over  bool
	done  chan struct{}
}

// NewSink writes to out and calls failed at most once, if it cannot.
func NewSink(out io.Writer, failed func(error)) *Sink {
	s := &Sink{out: NewEncoder(out), failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// Put never blocks.
func (s *Sink) Put(l Line) {
	s.mu.Lock()
	s.lines = append(s.lines, l)
	s.mu.Unlock()
	s.signal()
}

func (s *Sink) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close returns when all has been written.
func (s *Sink) Close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.signal()
	<-s.done
}

func (s *Sink) run() {
	defer close(s.done)
	broken := false
	for range s.wake {
		s.mu.Lock()
		lines, over := s.lines, s.over
		s.lines = nil
		s.mu.Unlock()
		for _, l := range lines {
			if broken {
				break
			}
			if err := s.out.Encode(l); err != nil {
				broken = true
				s.failed(err)
			}
		}
		if over {
			return
		}
	}
}
