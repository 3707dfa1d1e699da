package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestBuildModuleOfKubernetesUsesThePublishedLibraries(t *testing.T) {
	t.Parallel()
	source := readTestdata(t, "kubernetes-v1.37.2.mod")
	got, err := buildModule("kubernetes", "k8s.io/kubernetes", "v1.37.2", source)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.ParseLax("go.mod", got, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Go.Version != "1.26.0" || len(f.Require) != 1 || f.Require[0].Mod.Version != "v1.37.2" {
		t.Errorf("build module:\n%s", got)
	}
	strict, err := modfile.Parse("go.mod", got, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "=> ./staging/src/"); len(strict.Replace) != n {
		t.Errorf("%d replacements, its go.mod has %d", len(strict.Replace), n)
	}
	for _, r := range strict.Replace {
		if r.Old.Path != r.New.Path || r.New.Version != "v0.37.2" || r.Old.Version != "" {
			t.Errorf("replacement %v => %v", r.Old, r.New)
		}
	}
	if len(strict.Godebug) != 1 || strict.Godebug[0].Value != "go1.26" {
		t.Errorf("godebug %+v, want that of its go.mod", strict.Godebug)
	}
}

func TestBuildModuleTakesOverWhatCountsInTheMainModuleOnly(t *testing.T) {
	t.Parallel()
	const module, version = "example.test/app", "v1.2.3-rc.1"
	for _, tt := range []struct{ name, directive, want string }{
		{"versioned replace", "replace k8s.io/api v0.0.0 => k8s.io/api v0.29.3", "replace k8s.io/api v0.0.0 => k8s.io/api v0.29.3"},
		{"replace by a fork", "replace a.test/x => b.test/y v1.0.0", "replace a.test/x => b.test/y v1.0.0"},
		{"replace by a directory", "replace a.test/x => ../x", ""},
		{"staging of another name", "replace a.test/x => ./staging/src/a.test/y", ""},
		{"staging of a pre-release", "replace k8s.io/api => ./staging/src/k8s.io/api", "replace k8s.io/api => k8s.io/api v0.2.3-rc.1"},
		{"exclude", "exclude a.test/x v1.0.0", "exclude a.test/x v1.0.0"},
		{"retract is its own matter", "retract v1.0.0", ""},
		{"toolchain is our own matter", "toolchain go1.99.0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := buildModule("app", module, version, []byte("module "+module+"\n\ngo 1.24\n\n"+tt.directive+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			want := "module reckon.build/app\n\ngo 1.24\n\nrequire " + module + " " + version + "\n"
			if tt.want != "" {
				want += "\n" + tt.want + "\n"
			}
			if string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestCommittedPinsBelongToTheDefaultVersions(t *testing.T) {
	t.Parallel()
	for _, c := range Catalogue() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if c.Recipe != "" && c.Pin == "" || c.Sources != nil {
				t.Skip("not compiled from a module")
			}
			p, err := committedPin(c.Pin)
			if err != nil {
				t.Fatal(err)
			}
			f, err := modfile.Parse("go.mod", p.mod, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Require[0].Mod.Path != c.Module || f.Require[0].Mod.Version != c.Default {
				t.Errorf("the pin requires %v, the default is %s", f.Require[0].Mod, c.Default)
			}
			if p.moduleSum(c.Module, c.Default) == "" {
				t.Error("go.sum lacks the module itself")
			}
			tools := map[string]bool{}
			for _, tool := range f.Tool {
				tools[tool.Path] = true
			}
			for _, pkg := range c.packages() {
				if c.Recipe != RecipeOwn && !tools[pkg] {
					t.Errorf("the pin was not made for %s", pkg)
				}
			}
		})
	}
}

func FuzzBuildModule(f *testing.F) {
	raw, err := os.ReadFile(filepath.Join("testdata", "kubernetes-v1.37.2.mod"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("module m\nreplace a/b => ./staging/src/a/b\n"))
	f.Add([]byte("module m\ngodebug default=go1.21\nexclude a.b/c v1.0.0\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		got, err := buildModule("x", "example.test/x", "v1.2.3", source)
		if err != nil {
			return
		}
		out, err := modfile.Parse("go.mod", got, nil)
		if err != nil {
			t.Fatalf("made what cannot be read: %v\n%s", err, got)
		}
		for _, r := range out.Replace {
			if r.New.Version == "" {
				t.Errorf("a directory was kept: %v", r.New)
			}
		}
	})
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
