package toolchain

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
)

// Kinds of failure, for errors.Is. Their messages are one line, except for a
// CompileError, which carries the compiler's last words.
var (
	ErrUnknownComponent   = errors.New("unknown component")
	ErrVersionUnavailable = errors.New("version cannot be had")
	ErrGoTooOld           = errors.New("a newer Go is needed")
	ErrNoGo               = errors.New("no usable go command")
	ErrNoNetwork          = errors.New("the module registry cannot be reached")
	ErrChecksum           = errors.New("module checksum differs")
	ErrNoSpace            = errors.New("no space left")
	ErrDirectory          = errors.New("directory cannot be built")
	ErrDamaged            = errors.New("cached binary is damaged")
)

// VersionError says why a version was not built and which ones can be. It
// matches ErrVersionUnavailable or ErrGoTooOld.
type VersionError struct {
	Kind      error
	Component string
	Version   string
	Reason    string
	Available []string // oldest first; may be empty
}

func (e *VersionError) Error() string {
	msg := fmt.Sprintf("%s %s: %v: %s", e.Component, e.Version, e.Kind, e.Reason)
	if len(e.Available) > 0 {
		msg += "; to be had: " + strings.Join(e.Available, " ")
	}
	return msg
}

func (e *VersionError) Unwrap() error { return e.Kind }

// CompileError is a build that the compiler or linker refused.
type CompileError struct {
	Component string
	Version   string
	Output    string // the last lines of the output, at most tailLines
	Err       error  // how the go command ended
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("building %s %s: %v\n%s", e.Component, e.Version, e.Err, e.Output)
}

func (e *CompileError) Unwrap() error { return e.Err }

// goError is a failed go command: what it was, how it ended and the tail of
// its standard error.
type goError struct {
	verb string // "build", "list", ...
	tail string
	err  error
}

func (e *goError) Error() string {
	if e.tail == "" {
		return fmt.Sprintf("go %s: %v", e.verb, e.err)
	}
	return fmt.Sprintf("go %s: %v: %s", e.verb, e.err, oneLine(e.tail))
}

func (e *goError) Unwrap() error { return e.err }

var (
	needsGo = regexp.MustCompile(`requires go >= ([0-9][0-9a-z.]*)|go\.mod requires go >= ([0-9][0-9a-z.]*)`)
	offline = regexp.MustCompile(`(?i)dial tcp|no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|disabled by GOPROXY=off`)
)

// classify finds the kind of failure in a go command's output, or nil. It
// reads messages because the go command has no other way of telling.
func classify(output string) error {
	switch {
	case strings.Contains(output, syscall.ENOSPC.Error()), strings.Contains(output, "disk quota exceeded"):
		return ErrNoSpace
	case strings.Contains(output, "checksum mismatch"), strings.Contains(output, "SECURITY ERROR"):
		return ErrChecksum
	case needsGo.MatchString(output):
		return ErrGoTooOld
	case offline.MatchString(output):
		return ErrNoNetwork
	}
	return nil
}

// oneLine joins the lines of a message and drops what repeats blanks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// onDisk gives a full disk a clear name; other errors pass.
func onDisk(cache string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w for the build cache %s: %w", ErrNoSpace, cache, err)
	}
	return err
}
