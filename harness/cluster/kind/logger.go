package kind

import (
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/log"
)

// logger hands kind's messages on as progress, and keeps warnings and errors.
type logger struct {
	progress func(string)

	mu    sync.Mutex
	notes []string
}

var (
	_ log.Logger     = (*logger)(nil)
	_ log.InfoLogger = infoLogger{}
)

func (l *logger) Warn(message string)          { l.note(message) }
func (l *logger) Warnf(f string, args ...any)  { l.note(fmt.Sprintf(f, args...)) }
func (l *logger) Error(message string)         { l.note(message) }
func (l *logger) Errorf(f string, args ...any) { l.note(fmt.Sprintf(f, args...)) }
func (l *logger) V(level log.Level) log.InfoLogger {
	return infoLogger{l, level == 0}
}

func (l *logger) note(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, strings.TrimSpace(message))
}

// infoLogger passes kind's headings, one at the beginning of each phase.
type infoLogger struct {
	to      *logger
	enabled bool
}

func (i infoLogger) Enabled() bool { return i.enabled }

func (i infoLogger) Infof(f string, args ...any) { i.Info(fmt.Sprintf(f, args...)) }

func (i infoLogger) Info(message string) {
	if heading, ok := strings.CutPrefix(message, " • "); ok && i.enabled {
		i.to.progress(headingText(heading))
	}
}

// headingText drops what only a terminal wants.
func headingText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r > 0x7e {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimSpace(s), "...")), " ")
}
