package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Source is where binaries come from. Today they are compiled, from a module or
// a directory; official downloads and images can be added beside them.
type Source interface {
	// Identify says what Make would make, without making it. For what is
	// known already it must cost next to nothing: every cache hit calls it.
	Identify(ctx context.Context) (Identity, error)

	// Make puts bin/<program> for each program, and assets/ if the
	// component has any, into the empty directory dir. work is a scratch
	// directory on the same file system. Both are removed if Make fails.
	Make(ctx context.Context, dir, work string) error
}

// Identity is what a source is going to make.
type Identity struct {
	Version string // as recorded: v1.8.2, or dir:<short hash of the content>
	Origin  Origin
	Inputs  []string // everything that decides the content; hashed into the key
}

// Origin says where a binary comes from, and is recorded with its digest.
type Origin struct {
	Kind   string `json:"kind"`              // one of the kinds below
	Module string `json:"module"`            // module path
	Sum    string `json:"sum,omitempty"`     // go.sum's checksum of the module
	Dir    string `json:"dir,omitempty"`     // absolute path at the time of the build
	Hash   string `json:"hash,omitempty"`    // of the directory's content, hex
	Base   string `json:"base,omitempty"`    // release that the directory is based on, if stated
	LDFlag string `json:"ldflags,omitempty"` // value of -ldflags
	Edits  []Edit `json:"edits,omitempty"`   // changes that we made to the sources
}

// Kinds of origin.
const (
	FromModule    = "module"
	FromDirectory = "directory"
	FromReckon    = "reckon" // sources and recipes that this program carries
	FromDebian    = "debian" // Debian packages
)

// compilation is a go build of a component's programs, the same for modules
// and directories.
type compilation struct {
	component Component
	version   string
	gocmd     *goCommand
	meter     *meter
}

// buildFlags make the binary independent of where and when it is built.
var buildFlags = [...]string{"-mod=readonly", "-trimpath", "-buildvcs=false"}

// compile builds packages (import paths, or ./ paths below dir) in the module
// at dir, with the flags that all builds have and the given ones. Only go
// build's own messages decide the error's kind.
func (c *compilation) compile(ctx context.Context, dir string, packages, flags []string, out, work string) error {
	flags = append(buildFlags[:len(buildFlags):len(buildFlags)], flags...)
	env := []string{"GOTMPDIR=" + work} // what a killed build leaves goes with our scratch
	if c.component.CGO {
		env = append(env, "CGO_ENABLED=1")
	}
	if tags := c.component.Tags; len(tags) > 0 {
		flags = append(flags, "-tags="+strings.Join(tags, ","))
	}
	if err := c.list(ctx, dir, packages, flags, env); err != nil {
		return c.explain(err)
	}
	bin := filepath.Join(out, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	target := bin + string(filepath.Separator)
	if p := c.component.Programs; len(p) == 1 {
		target = filepath.Join(bin, p[0].Name) // the go command may name it otherwise
	}
	args := append(append([]string{"build", "-v", "-o", target}, flags...), packages...)
	_, err := c.gocmd.run(ctx, goRun{dir: dir, env: env, args: args, line: func(line string) bool {
		return c.meter.download(line) || c.meter.compile(line)
	}})
	return c.explain(err)
}

// list finds the packages that are to be compiled. The go command's Stale
// looks into the compile cache: it is false for what go build would take from
// there. A main package whose only lack is the linked program counts as
// compiled.
func (c *compilation) list(ctx context.Context, dir string, packages, flags, env []string) error {
	args := append([]string{"list", "-deps", "-f", "{{.ImportPath}}\t{{.Stale}}\t{{.StaleReason}}"}, flags...)
	out, err := c.gocmd.run(ctx, goRun{dir: dir, env: env, args: append(args, packages...), line: c.meter.download})
	if err != nil {
		return err
	}
	c.meter.expect(parseStale(string(out)), c.component.packages())
	return nil
}

// parseStale reads list's lines: import path, staleness, reason.
func parseStale(out string) map[string]bool {
	stale := map[string]bool{}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(f) == 3 && f[0] != "" {
			stale[f[0]] = f[1] == "true" && !strings.Contains(f[2], "available in build cache")
		}
	}
	return stale
}

// explain gives a failed go command its kind.
func (c *compilation) explain(err error) error {
	failed, ok := err.(*goError)
	if !ok {
		return err // nil, cancelled, or a file of ours
	}
	name := c.component.Name + " " + c.version
	switch kind := classify(failed.tail); kind {
	case nil:
		return &CompileError{Component: c.component.Name, Version: c.version, Output: failed.tail,
			Err: fmt.Errorf("go %s: %w", failed.verb, failed.err)}
	case ErrGoTooOld:
		return &VersionError{Kind: kind, Component: c.component.Name, Version: c.version, Reason: oneLine(failed.tail)}
	default:
		return fmt.Errorf("building %s: %w: %w", name, kind, failed)
	}
}

// copyAssets copies the component's assets from root to <out>/assets, under
// their paths in the module. A pattern without files is an error: a component
// without its CRDs would fail much later and less clearly.
func copyAssets(c Component, root, out string) error {
	for _, pattern := range c.Assets {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s: no file matches %s in its sources", c.Name, pattern)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.IsDir() {
				continue
			}
			rel, err := filepath.Rel(root, f)
			if err != nil {
				return err
			}
			if err := copyFile(f, filepath.Join(out, "assets", rel)); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
