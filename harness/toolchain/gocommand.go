package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of a failed command's output an error keeps: enough
// for the compiler's ten errors of a package and their headings.
const tailLines = 40

// goCommand runs the go command with one environment.
type goCommand struct {
	path string
	env  []string
}

// newGoCommand finds the go command and fixes the part of the environment that
// decides what is built. The user's registry, checksum and proxy settings
// stay as they are.
func newGoCommand(path string, env []string) (*goCommand, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGo, err)
	}
	return &goCommand{path: found, env: append(append([]string(nil), env...),
		"CGO_ENABLED=0",
		"GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH,
		"GOTOOLCHAIN=local", // a download of another Go would change the key's meaning
		"GOWORK=off",        // a workspace around a directory is not part of its key
		"GOFLAGS="+keptFlags(lookup(env, "GOFLAGS")),
	)}, nil
}

// keptFlags replaces the user's GOFLAGS: tags or -race would make another
// binary under the same key. Only the module cache's permissions stay their
// choice. The value is never empty, or the go command would read its
// configuration file instead.
func keptFlags(flags string) string {
	kept := "-mod=readonly"
	for f := range strings.FieldsSeq(flags) {
		if f == "-modcacherw" {
			kept += " " + f
		}
	}
	return kept
}

// lookup returns the last value of a variable, as exec does.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// version is the Go version, e.g. go1.26.8. It is read from the file that every
// Go distribution has, since starting the go command costs more than the rest
// of a cache hit.
func (g *goCommand) version(ctx context.Context) (string, error) {
	root := lookup(g.env, "GOROOT")
	if real, err := filepath.EvalSymlinks(g.path); root == "" && err == nil {
		root = filepath.Dir(filepath.Dir(real))
	}
	if b, err := os.ReadFile(filepath.Join(root, "VERSION")); err == nil {
		line, _, _ := strings.Cut(string(b), "\n")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "go1.") {
			return line, nil
		}
	}
	out, err := g.run(ctx, goRun{args: []string{"env", "GOVERSION"}})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoGo, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// outputEnv are the variables that change what the compiler makes.
func (g *goCommand) outputEnv() []string {
	var out []string
	for _, name := range []string{"GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "GODEBUG"} {
		if v := lookup(g.env, name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// goRun is one invocation.
type goRun struct {
	dir  string // working directory
	args []string
	env  []string          // on top of the command's
	line func(string) bool // sees each line of standard error; true takes it out of the error's tail
}

// run returns standard output. A failure is a *goError, a cancelled context
// its cause.
func (g *goCommand) run(ctx context.Context, r goRun) ([]byte, error) {
	var stdout bytes.Buffer
	stderr := &lineWriter{take: r.line}
	cmd := exec.CommandContext(ctx, g.path, r.args...)
	cmd.Dir, cmd.Env = r.dir, append(append([]string(nil), g.env...), r.env...)
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	// The go command starts compilers and linkers; a group of their own lets
	// one signal end them all.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the pipes open

	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		// Its children did not get the signal that ended it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return stdout.Bytes(), &goError{verb: r.args[0], tail: stderr.tail(), err: err}
}

// lineWriter splits what is written to it into lines and keeps the last ones.
type lineWriter struct {
	take    func(string) bool
	partial []byte
	kept    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.partial = append(w.partial, p...)
			return n, nil
		}
		w.add(string(append(w.partial, p[:i]...)))
		w.partial, p = w.partial[:0], p[i+1:]
	}
}

func (w *lineWriter) add(line string) {
	if w.take != nil && w.take(line) {
		return
	}
	if w.kept = append(w.kept, line); len(w.kept) > tailLines {
		w.kept = w.kept[1:]
	}
}

func (w *lineWriter) tail() string {
	if len(w.partial) > 0 {
		w.add(string(w.partial))
		w.partial = nil
	}
	return strings.TrimSpace(strings.Join(w.kept, "\n"))
}
