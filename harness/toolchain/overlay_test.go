package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOverlay(t *testing.T) {
	edit := Edit{File: "a.go", Old: `"0.0.0.0"`, New: `"127.0.0.1"`, Why: "binds loopback"}
	for name, c := range map[string]struct{ source, want, err string }{
		"edits the one place":                {source: `x = "0.0.0.0"`, want: `x = "127.0.0.1"`},
		"leaves what is as wanted":           {source: `x = "127.0.0.1"`},
		"refuses a source with neither text": {source: `x = ":80"`, err: "binds loopback"},
		"refuses two places":                 {source: `x, y = "0.0.0.0", "0.0.0.0"`, err: "once"},
		"refuses a missing file":             {err: "has no a.go"},
	} {
		t.Run(name, func(t *testing.T) {
			root, work := t.TempDir(), t.TempDir()
			if c.source != "" {
				if err := os.WriteFile(filepath.Join(root, "a.go"), []byte(c.source), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			comp := compilation{component: Component{Name: "widget", Edits: []Edit{edit}}, version: "v1.0.0"}
			file, err := comp.overlay(root, work)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if file != "" {
					t.Fatalf("an overlay %s where none is needed", file)
				}
				return
			}
			got, err := os.ReadFile(filepath.Join(work, "edit0.go"))
			if err != nil || string(got) != c.want {
				t.Fatalf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// What runs in a pod is the upstream's; the same version can be had either way,
// from a module and from a directory.
func TestAnUneditedBuildIsAnotherEntryThanTheEditedOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := widget()
	c.Edits = []Edit{{File: "cmd/widget/main.go", Old: "println(gear", New: "println(\"edited\", gear", Why: "says so"}}
	b.builder.Components = []Component{c}
	dir := t.TempDir()
	writeFiles(t, dir, widgetFiles("1.24"))
	for name, req := range map[string]Request{"module": {Component: "widget"}, "directory": {Component: "widget", Dir: dir, Version: "v1.0.0"}} {
		keys := map[string]bool{}
		for _, unedited := range []bool{false, true, false} {
			req.Unedited = unedited
			a := b.build(req)
			keys[a.Key] = true
			path, _ := a.Path("widgetd")
			if out := run(t, path); strings.HasPrefix(out, "edited ") == unedited || len(a.Origin.Edits) == 0 != unedited {
				t.Errorf("%s, unedited %t: the binary says %q, its origin %+v", name, unedited, out, a.Origin)
			}
		}
		if len(keys) != 2 {
			t.Errorf("%s: keys %v", name, keys)
		}
	}
}
