package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"reckon.dev/reckon/harness/toolchain"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can do, and say what each lack means",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// finding is one line of the doctor: what was looked at, what it means.
type finding struct {
	ok       bool
	what     string
	optional bool // lacking it, only --provider kind does not work
}

func (a *app) doctor(ctx context.Context) error {
	cache, err := a.cacheDir()
	if err != nil {
		return usage(err)
	}
	bad := 0
	for _, look := range []func(context.Context) []finding{
		func(ctx context.Context) []finding {
			return []finding{platform(), goCommand(ctx), compiler(), freeDisk(cache), freeMemory(), openFiles()}
		},
		func(ctx context.Context) []finding { return []finding{a.registry(ctx)} },
		a.kindFindings,
		func(ctx context.Context) []finding { return []finding{nodeBuild(ctx)} },
	} {
		found := within(ctx, look)
		if ctx.Err() != nil { // what was found then is no finding
			return &exitError{ExitAborted, errors.New("interrupted: not everything was looked at")}
		}
		bad += a.tell(found)
	}
	if bad > 0 {
		return &exitError{ExitInvalid, fmt.Errorf("%d lacks: see above", bad)}
	}
	return nil
}

// lookTimeout is how long the doctor looks at one thing, far beyond what it takes:
// an engine or a registry that hangs is a finding, and keeps nobody.
const lookTimeout = 2 * time.Minute

func within(ctx context.Context, look func(context.Context) []finding) []finding {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("no answer within %s", lookTimeout))
	defer cancel()
	return look(ctx)
}

// tell prints findings and counts those without which nothing works.
func (a *app) tell(findings []finding) (bad int) {
	for _, f := range findings {
		mark := "ok  "
		switch {
		case !f.ok && f.optional:
			mark = "lack"
		case !f.ok:
			mark = "LACK"
			bad++
		}
		fmt.Fprintf(a.Out, "%s  %s\n", mark, f.what)
	}
	return bad
}

func platform() finding {
	return finding{ok: runtime.GOOS == "linux", what: fmt.Sprintf("%s/%s, %d CPUs: embedded clusters run on Linux only", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
}

func goCommand(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if ctx.Err() != nil {
		return finding{ok: false, what: fmt.Sprintf("the go command: %v", context.Cause(ctx))}
	}
	if err != nil {
		return finding{ok: false, what: "no go command in PATH: components are built from their Go modules"}
	}
	return finding{ok: true, what: "Go " + strings.TrimSpace(strings.TrimPrefix(string(out), "go")) + ": builds every component whose go.mod wants no newer one"}
}

func compiler() finding {
	if _, err := exec.LookPath("gcc"); err != nil {
		return finding{ok: true, what: "no gcc: only the race detector of `make test` needs it"}
	}
	return finding{ok: true, what: "gcc: `make test` can use the race detector"}
}

// Building Kubernetes and one controller fills about 10 GB of the caches.
const wantDisk, wantMemory, wantFiles = 12 << 30, 2 << 30, 4096

func freeDisk(dir string) finding {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		var s unix.Statfs_t
		if unix.Statfs(dir, &s) == nil {
			free := s.Bavail * uint64(s.Bsize)
			return finding{ok: free >= wantDisk, what: fmt.Sprintf("%d GB free at %s: a first build fills about 10 GB of caches", free>>30, dir)}
		}
	}
	return finding{ok: false, what: "the free disk space cannot be read"}
}

func freeMemory() finding {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return finding{ok: false, what: "the free memory cannot be read"}
	}
	var kb uint64
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kb); err == nil {
			break
		}
	}
	return finding{ok: kb<<10 >= wantMemory, what: fmt.Sprintf("%d MB of memory available: a cluster with its controller takes about 1 GB, linking the API server 1.5 GB", kb>>10)}
}

func openFiles() finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return finding{ok: false, what: "the limit of open files cannot be read"}
	}
	return finding{ok: limit.Max >= wantFiles, what: fmt.Sprintf("%d open files allowed: four clusters at a time want %d (ulimit -n)", limit.Max, wantFiles)}
}

func (a *app) registry(ctx context.Context) finding {
	b, err := a.builder(a.newStatus())
	if err != nil {
		return finding{ok: false, what: err.Error()}
	}
	if _, err := b.Versions(ctx, toolchain.Catalogue()[0].Name); err != nil {
		return finding{ok: true, what: "the Go module registry does not answer: only what is cached can be used"}
	}
	return finding{ok: true, what: "the Go module registry answers"}
}
