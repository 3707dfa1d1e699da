package toolchain

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reckon.dev/reckon/harness/filelock"
)

func TestBuildCompilesAModuleAndKeepsItsAssets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.build(Request{Component: "widget"})
	path, err := a.Path("widgetd")
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, path); !strings.HasPrefix(out, "v1.0.0 ") {
		t.Errorf("the binary says %q, want its version first", out)
	}
	if _, err := os.Stat(filepath.Join(a.Assets, "crds", "widget.yaml")); err != nil {
		t.Error(err)
	}
	if a.Version != "v1.0.0" || a.Origin.Kind != FromModule || !strings.HasPrefix(a.Origin.Sum, "h1:") {
		t.Errorf("artifact %+v", a)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	b.noLeftovers()
	want := []Phase{PhaseResolve, PhaseDownload, PhaseResolve, PhaseCompile, PhaseLink, PhaseReady}
	if got := b.events.phases(); !slices.Equal(got, want) {
		t.Errorf("phases %v, want %v", got, want)
	}
	for _, e := range b.events.events {
		if e.Phase == PhaseCompile && (e.Total < 2 || e.Done > e.Total) {
			t.Errorf("compile event %+v: want at least two packages, none too many", e)
		}
	}
}

func TestBuildOfACachedVersionIsFastAndNeedsNoRegistry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.build(Request{Component: "widget"})
	if err := os.RemoveAll(b.proxy); err != nil {
		t.Fatal(err)
	}
	second := b.build(Request{Component: "widget", Version: "v1.0.0"})
	if first.Key != second.Key || !first.Built.Equal(second.Built) || first.Dir != second.Dir {
		t.Errorf("another entry: %+v and %+v", first, second)
	}
}

func TestTwoBuildersAtOnceMakeOneEntry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	marks := filepath.Join(t.TempDir(), "builds")
	b.fakeGo("echo x >> " + marks)
	other := *b.builder // as another process would be: nothing in common but the cache
	artifacts := make([]Artifact, 2)
	var wg sync.WaitGroup
	for i, builder := range []*Builder{b.builder, &other} {
		wg.Go(func() {
			a, err := builder.Build(t.Context(), Request{Component: "widget"})
			if err != nil {
				t.Error(err)
			}
			artifacts[i] = a
		})
	}
	wg.Wait()
	if artifacts[0].Key == "" || artifacts[0].Dir != artifacts[1].Dir {
		t.Errorf("different entries: %s and %s", artifacts[0].Dir, artifacts[1].Dir)
	}
	if raw, _ := os.ReadFile(marks); string(raw) != "x\n" {
		t.Errorf("%d builds ran, want 1", strings.Count(string(raw), "x"))
	}
	if b.events.count(PhaseWait) == 0 {
		t.Error("nobody said that it waits")
	}
	b.noLeftovers()
}

func TestCancelEndsTheWaitForAnotherBuilder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l, err := filelock.Try(cache{b.builder.Cache}.lockPath("widget@v1.0.0"))
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	defer l.Release()
	ctx, cancel := context.WithCancel(t.Context())
	b.events.on = func(e Event) {
		if e.Phase == PhaseWait {
			cancel()
		}
	}
	if _, err := b.builder.Build(ctx, Request{Component: "widget"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestCancelEndsTheCompilersAndLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	b.fakeGo("sleep 300 & echo $! > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; wait")
	why := errors.New("the user pressed ctrl-c")
	ctx, cancel := context.WithCancelCause(t.Context())
	var child int
	go func() {
		child = waitForPid(t, pidFile)
		cancel(why)
	}()
	if _, err := b.builder.Build(ctx, Request{Component: "widget"}); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	gone(t, child)
	b.noLeftovers()
	b.builder.Go = ""
	b.build(Request{Component: "widget"})
}

func TestAKilledGoCommandIsAnErrorAndTheNextBuildSucceeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fakeGo("kill -9 $$")
	_, err := b.builder.Build(t.Context(), Request{Component: "widget"})
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error %v, want one that says killed", err)
	}
	b.noLeftovers()
	b.builder.Go = ""
	b.build(Request{Component: "widget"})
}

// A builder that is killed cannot tidy up. The test binary plays it.
func TestAKilledBuilderLeavesOnlyTempThatTheNextOneRemoves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	b.fakeGo("sleep 300 & echo $! > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; wait")
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperBuilder$")
	cmd.Env = append(b.builder.Env, "HELPER_CACHE="+b.builder.Cache, "HELPER_GO="+b.builder.Go)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := waitForPid(t, pidFile)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_ = syscall.Kill(child, syscall.SIGKILL)
	if len(b.leftovers()) != 1 {
		t.Errorf("leftovers %v, want those of the killed builder", b.leftovers())
	}
	b.builder.Go = ""
	b.build(Request{Component: "widget"})
	b.noLeftovers()
}

func TestHelperBuilder(t *testing.T) {
	dir := os.Getenv("HELPER_CACHE")
	if dir == "" {
		t.Skip("only as a helper of another test")
	}
	b := &Builder{Cache: dir, Components: []Component{widget()}, Go: os.Getenv("HELPER_GO")}
	_, _ = b.Build(t.Context(), Request{Component: "widget"})
}

func TestCleanRemovesOldLeftoversButNotABuilderAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.builder.Now = time.Now
	dead, busy := filepath.Join(b.builder.Cache, "tmp", "widget@v0.1.0"), filepath.Join(b.builder.Cache, "tmp", "widget@v0.2.0")
	writeFiles(t, dead, map[string]string{"1/work/x": "x"})
	writeFiles(t, busy, map[string]string{"1/work/x": "x"})
	l, err := filelock.Try(cache{b.builder.Cache}.lockPath("widget@v0.2.0"))
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	defer l.Release()
	if got, err := b.builder.Clean(t.Context(), time.Hour); err != nil || len(got) > 0 {
		t.Errorf("removed %v, error %v; nothing is an hour old", got, err)
	}
	if got, err := b.builder.Clean(t.Context(), -time.Hour); err != nil || !slices.Equal(got, []string{dead}) {
		t.Errorf("removed %v, error %v; want %s", got, err, dead)
	}
}

func TestDamagedEntriesAreBuiltAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(Artifact) error{
		"binary cut":          func(a Artifact) error { return os.Truncate(a.Binaries[0].Path, 10) },
		"binary gone":         func(a Artifact) error { return os.Remove(a.Binaries[0].Path) },
		"binary unexecutable": func(a Artifact) error { return os.Chmod(a.Binaries[0].Path, 0o644) },
		"manifest garbage":    func(a Artifact) error { return os.WriteFile(filepath.Join(a.Dir, manifest), []byte("{"), 0o644) },
		"assets gone":         func(a Artifact) error { return os.RemoveAll(a.Assets) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			a := b.build(Request{Component: "widget"})
			if err := damage(a); err != nil {
				t.Fatal(err)
			}
			if got := b.build(Request{Component: "widget"}); got.Verify(t.Context()) != nil || got.Key != a.Key {
				t.Errorf("not repaired: %+v", got)
			}
		})
	}
}

func TestVerifyFindsABinaryOfTheSameSizeWithOtherContent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.build(Request{Component: "widget"})
	f, err := os.OpenFile(a.Binaries[0].Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{0}, 0)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v, want ErrDamaged", err)
	}
}

func TestFailuresHaveAKindAndOneClearMessage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		req     Request
		env     string
		onBuild string
		kind    error
		says    []string
	}{
		{name: "version not served", req: Request{Version: "v9.9.9"}, kind: ErrVersionUnavailable,
			says: []string{"widget v9.9.9", "to be had: v1.0.0 v1.2.0 v1.3.0"}},
		{name: "go line too new", req: Request{Version: "v1.1.0"}, kind: ErrGoTooOld,
			says: []string{"wants go 1.999", "here is go1.", "to be had: v1.0.0 v1.2.0 v1.3.0"}},
		{name: "v forgotten", req: Request{Version: "1.0.0"}, kind: ErrVersionUnavailable, says: []string{"did you mean v1.0.0?"}},
		{name: "not a version", req: Request{Version: "latest"}, kind: ErrVersionUnavailable, says: []string{"want a full version"}},
		{name: "path as version", req: Request{Version: "v1.0.0/../.."}, kind: ErrVersionUnavailable},
		{name: "unknown component", req: Request{Component: "wigdet"}, kind: ErrUnknownComponent, says: []string{"did you mean \"widget\"?"}},
		{name: "registry switched off", req: Request{Version: "v1.0.0"}, env: "GOPROXY=off", kind: ErrNoNetwork, says: []string{"cannot be reached"}},
		{name: "registry unreachable", req: Request{Version: "v1.0.0"}, env: "GOPROXY=http://127.0.0.1:1", kind: ErrNoNetwork},
		{name: "disk full", onBuild: "echo 'write out: no space left on device' >&2; exit 1", kind: ErrNoSpace},
		{name: "directory without module", req: Request{Dir: "testdata"}, kind: ErrDirectory, says: []string{"go.mod"}},
		{name: "no go command", kind: ErrNoGo, onBuild: "missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.req.Component == "" {
				tt.req.Component = "widget"
			}
			switch tt.onBuild {
			case "":
			case "missing":
				b.builder.Go = filepath.Join(t.TempDir(), "go")
			default:
				b.fakeGo(tt.onBuild)
			}
			b.builder.Env = append(b.builder.Env, tt.env)
			_, err := b.builder.Build(t.Context(), tt.req)
			if !errors.Is(err, tt.kind) {
				t.Fatalf("error %v, want %v", err, tt.kind)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if tt.req.Version != "" && !errors.Is(b.builder.Check(t.Context(), tt.req), tt.kind) {
				t.Error("it is not known before it is built")
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
			b.noLeftovers()
		})
	}
}

func TestCompileErrorsCarryTheCompilersWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.builder.Build(t.Context(), Request{Component: "widget", Version: "v1.2.0"})
	failed, ok := errors.AsType[*CompileError](err)
	if !ok {
		t.Fatalf("error %v, want a CompileError", err)
	}
	if !strings.Contains(failed.Output, "undefined: undefinedTooth") || strings.Contains(failed.Output, "downloading") {
		t.Errorf("output %q", failed.Output)
	}
	b.noLeftovers()
}

func TestMissingAssetsFailTheBuild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.builder.Build(t.Context(), Request{Component: "widget", Version: "v1.3.0"})
	if err == nil || !strings.Contains(err.Error(), "crds/*.yaml") {
		t.Errorf("error %v, want one that names the pattern", err)
	}
	b.noLeftovers()
}

func TestListSaysWhatIsCachedAndWhatCanBeHad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.build(Request{Component: "widget"})
	entries, err := b.builder.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := entries[0]
	if len(entries) != 1 || len(e.Cached) != 1 || e.Cached[0].Key != a.Key || e.Offline != nil ||
		!slices.Equal(e.Available, []string{"v1.0.0", "v1.2.0", "v1.3.0"}) {
		t.Errorf("entries %+v", entries)
	}
	b.builder.Env = append(b.builder.Env, "GOPROXY=off")
	if entries, err = b.builder.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := entries[0]; !errors.Is(e.Offline, ErrNoNetwork) || !slices.Equal(e.Available, []string{"v1.0.0"}) {
		t.Errorf("without a registry: %+v", e)
	}
}

// waitForPid waits for a script to write a process id.
func waitForPid(t *testing.T, path string) int {
	t.Helper()
	for range 600 {
		if raw, err := os.ReadFile(path); err == nil {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
			return pid
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the build did not start within 30 s")
	return 0
}

// gone waits for a process to end.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if pid == 0 || syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// zombie says whether a process is dead and only waits for its parent, which
// in a container may never come.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}
