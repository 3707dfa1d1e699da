package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/toolchain"
)

// status prints progress: plain lines, one for each change, so that a CI log
// reads well; on a terminal a build's counter is one line that is rewritten.
type status struct {
	out      io.Writer
	terminal bool
	quiet    bool
	clock    clock.PassiveClock
	start    time.Time

	mu      sync.Mutex
	pending bool // a line without its newline is on the terminal
	last    map[string]buildMark
	// bottom stays the last line of a terminal, if it is set.
	bottom string
}

type buildMark struct {
	phase toolchain.Phase
	at    time.Time
}

// every is how often a build reports in a log.
const every = 10 * time.Second

func (a *app) newStatus() *status {
	f, ok := a.Err.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	return &status{out: a.Err, terminal: terminal, quiet: a.quiet, clock: a.Clock, start: a.Clock.Now(), last: map[string]buildMark{}}
}

func (s *status) line(format string, args ...any) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(format, args...)
	s.showBottom()
}

func (s *status) endPending() {
	if s.pending {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.pending = false
	}
}

// pin keeps a text as the last line of a terminal; an empty one takes it away. Logs
// have no last line.
func (s *status) pin(text string) {
	if s.quiet || !s.terminal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bottom = text
	s.endPending()
	s.showBottom()
}

func (s *status) showBottom() {
	if s.bottom == "" {
		return
	}
	fmt.Fprint(s.out, cut(s.bottom, s.width()))
	s.pending = true
}

// width of the terminal, 80 where it does not say.
func (s *status) width() int {
	if f, ok := s.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// cut keeps a text on one line, which the terminal would not take away as a whole else.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) < width {
		return text
	}
	return string(runes[:max(0, width-2)]) + "…"
}

func (s *status) run(p engine.Progress) { s.line("%s: %s", p.Cell, p.Text) }

// Update prints the progress of a build. Cache hits, which take milliseconds,
// are not worth a line.
func (s *status) Update(e toolchain.Event) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := e.Component + " " + e.Version
	mark, known := s.last[name]
	if e.Phase == toolchain.PhaseReady {
		if known {
			s.print("build %s: ready", name)
		}
		delete(s.last, name)
		return
	}
	now := s.clock.Now()
	if !s.terminal && known && mark.phase == e.Phase && now.Sub(mark.at) < every {
		return
	}
	s.last[name] = buildMark{e.Phase, now}
	text := fmt.Sprintf("build %s: %s", name, e.Phase)
	if e.Total > 0 {
		text += fmt.Sprintf(" %d of %d packages", e.Done, e.Total)
	}
	if s.terminal {
		fmt.Fprintf(s.out, "\r\x1b[K%6.1fs  %s", s.clock.Since(s.start).Seconds(), text)
		s.pending = true
		return
	}
	s.print("%s", text)
}

func (s *status) print(format string, args ...any) {
	s.endPending()
	fmt.Fprintf(s.out, "%6.1fs  %s\n", s.clock.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}
