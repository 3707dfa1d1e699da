package toolchain

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPatchedDirectoryIsBuiltAndNotTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	writeFiles(t, dir, widgetFiles("1.24"))
	before := treeOf(t, dir)
	first := b.build(Request{Component: "widget", Dir: dir, Version: "v1.0.0"})
	if after := treeOf(t, dir); before != after {
		t.Error("the build changed the directory")
	}
	if first.Origin.Kind != FromDirectory || first.Version != "dir:"+first.Origin.Hash[:12] || first.Origin.Base != "v1.0.0" {
		t.Errorf("artifact %+v", first)
	}
	path, _ := first.Path("widgetd")
	if out := run(t, path); !strings.HasPrefix(out, "v1.0.0+dir."+first.Origin.Hash[:12]+" ") {
		t.Errorf("the binary says %q", out)
	}
	if again := b.build(Request{Component: "widget", Dir: dir, Version: "v1.0.0"}); again.Dir != first.Dir {
		t.Error("the same content made another entry")
	}
	writeFiles(t, dir, map[string]string{"gear/gear.go": "package gear\n\nfunc Teeth() string { return \"patched\" }\n"})
	second := b.build(Request{Component: "widget", Dir: dir, Version: "v1.0.0"})
	path, _ = second.Path("widgetd")
	if out := run(t, path); out != "patched" || second.Key == first.Key {
		t.Errorf("after a patch the binary says %q", out)
	}
	b.noLeftovers()
}

func TestContentHashChangesWithWhatABuildReads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		file    string
		changes bool
	}{
		{"source", "gear/gear.go", true},
		{"go.sum", "go.sum", true},
		{"file that may be embedded", "static/index.html", true},
		{"testdata that may be embedded", "gear/testdata/x.txt", true},
		{"replaced module outside", "../other/x.go", true},
		{"test", "gear/gear_test.go", false},
		{"version control", ".git/HEAD", false},
		{"node modules", "ui/node_modules/x.js", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := filepath.Join(root, "widget")
			files := widgetFiles("1.24")
			files["go.mod"] += "\nreplace example.test/other => ../other\n"
			files[tt.file] = "package a\n"
			writeFiles(t, dir, files)
			writeFiles(t, dir, map[string]string{"../other/go.mod": "module example.test/other\n"})
			s := &directorySource{compilation: compilation{component: widget()}, dir: dir}
			before, err := s.content()
			if err != nil {
				t.Fatal(err)
			}
			writeFiles(t, dir, map[string]string{tt.file: "package b\n"})
			after, err := s.content()
			if err != nil {
				t.Fatal(err)
			}
			if (before != after) != tt.changes {
				t.Errorf("hash changed: %v, want %v", before != after, tt.changes)
			}
		})
	}
}

func TestADirectoryOfAnotherModuleIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"go.mod": "module example.test/gadget\n"})
	_, err := b.builder.Build(t.Context(), Request{Component: "widget", Dir: dir})
	if !errors.Is(err, ErrDirectory) || !strings.Contains(err.Error(), widgetModule) {
		t.Errorf("error %v", err)
	}
}

func TestADirectoryThatChangesDuringTheBuildIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	writeFiles(t, dir, widgetFiles("1.24"))
	b.fakeGo("echo '// later' >> " + filepath.Join(dir, "gear", "gear.go"))
	_, err := b.builder.Build(t.Context(), Request{Component: "widget", Dir: dir})
	if !errors.Is(err, ErrDirectory) || !strings.Contains(err.Error(), "changed during the build") {
		t.Errorf("error %v", err)
	}
	b.noLeftovers()
}

// treeOf digests all names and contents below a directory.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	if err := hashTree(h, dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := string(h.Sum(nil))
	for _, e := range entries {
		out += e.Name() + "\n"
	}
	return out
}
