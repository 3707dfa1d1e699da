package toolchain

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// checkout is this module's directory.
const checkout = "../.."

// TestThePinOfOurOwnSourcesHasReckonsVersions: what is compiled into an image is
// what the tests of the same packages ran with.
func TestThePinOfOurOwnSourcesHasReckonsVersions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range ours.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, c := range Catalogue() {
		if c.Sources == nil {
			continue
		}
		p, err := committedPin(c.Pin)
		if err != nil {
			t.Fatal(err)
		}
		f, err := modfile.Parse("go.mod.pin", p.mod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Module.Mod.Path != c.Module || f.Go.Version != ours.Go.Version {
			t.Errorf("%s: module %s of Go %s, want %s of %s", c.Name, f.Module.Mod.Path, f.Go.Version, c.Module, ours.Go.Version)
		}
		for _, r := range f.Require {
			if v := versions[r.Mod.Path]; v != r.Mod.Version && (v != "" || !r.Indirect) {
				t.Errorf("%s: the pin has %v, reckon has %q", c.Name, r.Mod, v)
			}
		}
	}
}

// TestOurOwnSourcesAreWholeAndAsInTheRepository lists what a program imports
// where only the carried sources are.
func TestOurOwnSourcesAreWholeAndAsInTheRepository(t *testing.T) {
	t.Parallel()
	for _, c := range Catalogue() {
		if c.Sources == nil {
			continue
		}
		dir := t.TempDir()
		p, err := committedPin(c.Pin)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.write(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, c.Sources); err != nil {
			t.Fatal(err)
		}
		sameAsInTheRepository(t, c)
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"vet", "-mod=readonly"}, c.packages()...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, out)
		}
	}
}

// sameAsInTheRepository compares the packages that are carried whole: a file
// that is not carried would be missed only where something needs it.
func sameAsInTheRepository(t *testing.T, c Component) {
	t.Helper()
	err := fs.WalkDir(c.Sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.HasPrefix(name, "traffic") {
			return err
		}
		files, err := filepath.Glob(filepath.Join(checkout, "harness", filepath.FromSlash(name), "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			got, err := fs.ReadFile(c.Sources, path.Join(name, filepath.Base(file)))
			if err != nil {
				t.Errorf("%s is not carried: %v", file, err)
			} else if !bytes.Equal(got, want) {
				t.Errorf("%s is carried otherwise", file)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
