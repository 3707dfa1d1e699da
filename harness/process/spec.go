package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrUnsupported is returned where the operating system lacks what supervision
// is built on.
var ErrUnsupported = errors.New("process supervision needs Linux (parent death signal, /proc); this OS is not supported")

// ErrClosed is returned by Start after the supervisor was closed.
var ErrClosed = errors.New("process supervisor is closed")

// Spec describes one child.
type Spec struct {
	// Name is how messages and logs call the child, e.g. "kube-apiserver".
	Name string
	// Path is the binary, Args its arguments without the program name.
	Path string
	Args []string
	// Env is added to the small base environment of the supervisor. A child
	// never inherits the caller's environment: ETCD_*, KUBE_FEATURE_* and
	// HTTP_PROXY change what a component does without being seen.
	Env []string
	// Dir is the working directory.
	Dir string
	// LogPath is the file that standard output and standard error go to. It is
	// appended to, so that a restart keeps what was there.
	LogPath string
	// Detached children survive this program: own session, no parent death
	// signal.
	Detached bool
	// OnLine, if set, is called with every line of the child's log, in order,
	// from one goroutine. A call that blocks in the end blocks the child.
	// A detached child cannot be teed: it would lose its standard output with us.
	OnLine func(line string)
	// Stdin and Stdout are the child's standard input and output, of which it gets
	// copies; nil: none, and the log.
	Stdin, Stdout *os.File
	// Files are inherited as file descriptors 3 and up. They stay open as long
	// as the child lives, which is what makes them useful: as reservations.
	Files []*os.File
	// Within, if set, calls start, which forks the child with the attributes on the
	// calling thread: from where the child is to be, such as in a cgroup.
	Within func(attributes *syscall.SysProcAttr, start func() error) error
}

func (s Spec) validate() error {
	switch {
	case s.Name == "":
		return errors.New("process: a spec needs a name")
	case s.Path == "":
		return fmt.Errorf("process %s: no binary given", s.Name)
	case s.LogPath == "":
		return fmt.Errorf("process %s: no log path given", s.Name)
	case s.Detached && s.OnLine != nil:
		return fmt.Errorf("process %s: the log of a detached process cannot be teed", s.Name)
	}
	return nil
}
