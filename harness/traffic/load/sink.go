package load

import (
	"io"
	"sync"

	"reckon.dev/reckon/harness/traffic"
)

// sink writes lines from a goroutine of its own: a reader that does not keep up
// must not hold up the schedule. What waits is bounded by what a run produces,
// some kilobytes a second.
type sink struct {
	out    *traffic.Encoder
	failed func(error) // called once

	mu    sync.Mutex
	lines []traffic.Line
	wake  chan struct{} // holds one: there are lines, or it is over
	over  bool
	done  chan struct{}
}

func newSink(out io.Writer, failed func(error)) *sink {
	s := &sink{out: traffic.NewEncoder(out), failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// put never blocks.
func (s *sink) put(l traffic.Line) {
	s.mu.Lock()
	s.lines = append(s.lines, l)
	s.mu.Unlock()
	s.signal()
}

func (s *sink) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close returns when all has been written.
func (s *sink) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.signal()
	<-s.done
}

func (s *sink) run() {
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
