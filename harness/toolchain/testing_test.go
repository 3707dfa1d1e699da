package toolchain

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const widgetModule = "example.test/widget"

// bench is a registry on disk with one small component, and a builder of it.
type bench struct {
	t       *testing.T
	proxy   string
	builder *Builder
	events  *recorder
}

// newBench serves widget v1.0.0 (builds), v1.1.0 (wants a Go of the far
// future), v1.2.0 (does not compile) and v1.3.0 (lacks its assets).
func newBench(t *testing.T) *bench {
	t.Helper()
	root := t.TempDir()
	b := &bench{t: t, proxy: filepath.Join(root, "proxy"), events: &recorder{}}
	b.publish("v1.0.0", widgetFiles("1.24"))
	b.publish("v1.1.0", widgetFiles("1.999"))
	broken := widgetFiles("1.24")
	broken["gear/gear.go"] = "package gear\n\nfunc Teeth() string { return undefinedTooth }\n"
	b.publish("v1.2.0", broken)
	bare := widgetFiles("1.24")
	delete(bare, "crds/widget.yaml")
	b.publish("v1.3.0", bare)
	b.builder = &Builder{
		Cache:      filepath.Join(root, "cache"),
		Components: []Component{widget()},
		Progress:   b.events,
		Now:        func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Env: append(os.Environ(),
			"GOPROXY=file://"+filepath.ToSlash(b.proxy), "GOSUMDB=off", "GONOSUMDB=*", "GONOPROXY=none", "GOPRIVATE=",
			"GOMODCACHE="+filepath.Join(root, "mod"), "GOFLAGS=-modcacherw"),
	}
	return b
}

func widget() Component {
	return Component{
		Name: "widget", Module: widgetModule, Default: "v1.0.0",
		Programs: []Program{{Name: "widgetd", Package: "cmd/widget"}},
		LDFlags:  []string{widgetModule + "/gear.version={version}"},
		Assets:   []string{"crds/*.yaml"},
		Oldest:   "v1.0.0",
		Known:    []string{"v1.0.0"},
		NeedsGo:  map[string]string{"v1.1.0": "1.999"},
	}
}

// widgetFiles are sources that no compile cache has seen: a constant differs
// in every call.
func widgetFiles(goLine string) map[string]string {
	return map[string]string{
		"go.mod":             "module " + widgetModule + "\n\ngo " + goLine + "\n",
		"cmd/widget/main.go": "package main\n\nimport \"" + widgetModule + "/gear\"\n\nfunc main() { println(gear.Teeth()) }\n",
		"gear/gear.go": fmt.Sprintf("package gear\n\nvar version = \"none\"\n\n// Teeth is what the program prints.\n"+
			"func Teeth() string { return version + \" %016x\" }\n", rand.Uint64()),
		"crds/widget.yaml": "kind: CustomResourceDefinition\n",
	}
}

// publish adds a version to the registry.
func (b *bench) publish(version string, files map[string]string) {
	b.t.Helper()
	dir := filepath.Join(b.proxy, widgetModule, "@v")
	src := b.t.TempDir()
	writeFiles(b.t, src, files)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	info, _ := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-02T03:04:05Z"})
	writeFiles(b.t, dir, map[string]string{version + ".info": string(info), version + ".mod": files["go.mod"]})
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	if err := zip.CreateFromDir(f, module.Version{Path: widgetModule, Version: version}, src); err != nil {
		b.t.Fatal(err)
	}
	list, err := os.OpenFile(filepath.Join(dir, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer list.Close()
	fmt.Fprintln(list, version)
}

// build builds and fails the test on an error.
func (b *bench) build(req Request) Artifact {
	b.t.Helper()
	a, err := b.builder.Build(b.t.Context(), req)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// fakeGo puts a shell script in the go command's place. In the script, $GO is
// the real one; lines before it act on go build only.
func (b *bench) fakeGo(onBuild string) {
	b.t.Helper()
	real, err := exec.LookPath("go")
	if err != nil {
		b.t.Skip("no go command")
	}
	path := filepath.Join(b.t.TempDir(), "go")
	script := "#!/bin/sh\nGO=" + real + "\nif [ \"$1\" = build ]; then\n" + onBuild + "\nfi\nexec \"$GO\" \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.builder.Go = path
}

// leftovers lists what is in the cache's tmp directory.
func (b *bench) leftovers() []string {
	var out []string
	targets, _ := os.ReadDir(filepath.Join(b.builder.Cache, "tmp"))
	for _, t := range targets {
		out = append(out, t.Name())
	}
	return out
}

func (b *bench) noLeftovers() {
	b.t.Helper()
	if left := b.leftovers(); len(left) > 0 {
		b.t.Errorf("left in tmp: %v", left)
	}
}

// run starts a binary and returns what it prints on standard error.
func run(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recorder is a Progress that remembers.
type recorder struct {
	mu     sync.Mutex
	events []Event
	on     func(Event)
}

func (r *recorder) Update(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	on := r.on
	r.mu.Unlock()
	if on != nil {
		on(e)
	}
}

// phases returns the phases without repeats in a row.
func (r *recorder) phases() []Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Phase
	for _, e := range r.events {
		if len(out) == 0 || out[len(out)-1] != e.Phase {
			out = append(out, e.Phase)
		}
	}
	return out
}

func (r *recorder) count(p Phase) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Phase == p {
			n++
		}
	}
	return n
}
