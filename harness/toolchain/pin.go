package toolchain

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// The files are not called go.mod: embed refuses a directory that has one,
// since it would be another module.
//
//go:embed pins
var pins embed.FS

// pin is a build module: a go.mod that requires the component, and a go.sum
// with the checksum of every module that takes part. The committed ones of kwok and
// CoreDNS, which are no component under test, require what Kubernetes' own does of
// the modules that they share, so that four fifths of their packages are compiled
// once for all three.
type pin struct{ mod, sum []byte }

// committedPin returns the pin of a component's default version.
func committedPin(name string) (pin, error) {
	mod, err := pins.ReadFile(path.Join("pins", name, "go.mod.pin"))
	if err != nil {
		return pin{}, err
	}
	sum, err := pins.ReadFile(path.Join("pins", name, "go.sum.pin"))
	return pin{mod: mod, sum: sum}, err
}

// readPin reads a build module from a directory.
func readPin(dir string) (pin, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return pin{}, err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	return pin{mod: mod, sum: sum}, err
}

// write makes dir a build module.
func (p pin) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), p.mod, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), p.sum, 0o644)
}

// moduleSum finds a module's checksum ("h1:...") in the pin, or returns "".
func (p pin) moduleSum(module, version string) string {
	want := module + " " + version + " "
	for line := range bytes.Lines(p.sum) {
		if rest, ok := bytes.CutPrefix(line, []byte(want)); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// buildModule writes the go.mod of a module that builds a component as its own
// module would: the directives that count only in the main module (replace,
// exclude, godebug) are taken over, and so is the go line, which decides the
// defaults of GODEBUG. source is the component's own go.mod.
func buildModule(name, module, version string, source []byte) ([]byte, error) {
	from, err := modfile.Parse(module+"@"+version+"/go.mod", source, nil)
	if err != nil {
		return nil, err
	}
	to := new(modfile.File)
	steps := []error{to.AddModuleStmt("reckon.build/" + name)}
	if from.Go != nil {
		steps = append(steps, to.AddGoStmt(from.Go.Version))
	}
	for _, g := range from.Godebug {
		steps = append(steps, to.AddGodebug(g.Key, g.Value))
	}
	steps = append(steps, to.AddRequire(module, version))
	for _, x := range from.Exclude {
		steps = append(steps, to.AddExclude(x.Mod.Path, x.Mod.Version))
	}
	for _, r := range from.Replace {
		if n, ok := replacement(r, version); ok {
			steps = append(steps, to.AddReplace(r.Old.Path, r.Old.Version, n.path, n.version))
		}
	}
	if i := slices.IndexFunc(steps, func(err error) bool { return err != nil }); i >= 0 {
		return nil, fmt.Errorf("build module of %s@%s: %w", module, version, steps[i])
	}
	to.Cleanup()
	return to.Format()
}

type target struct{ path, version string }

// replacement rewrites one replace directive for use outside of the module.
// Kubernetes replaces its libraries by directories that the module's archive
// lacks; the same sources are published as modules, v1.37.2's as v0.37.2.
// Other replacements by directories cannot be followed: the module that is
// named in the requirement takes part then, as in any build from outside.
func replacement(r *modfile.Replace, version string) (target, bool) {
	if r.New.Version != "" {
		return target{r.New.Path, r.New.Version}, true
	}
	rest, v1 := strings.CutPrefix(version, "v1.")
	if lib, ok := strings.CutPrefix(r.New.Path, "./staging/src/"); ok && v1 && lib == r.Old.Path {
		return target{lib, "v0." + rest}, true
	}
	return target{}, false
}
