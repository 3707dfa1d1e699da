package toolchain

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"reckon.dev/reckon/harness/nearest"
)

// Request asks for one component.
type Request struct {
	Component string // name in the catalogue

	// Version is a module version (v1.8.2, or a pseudo-version); empty means
	// the component's default. With Dir it names the release that the
	// directory is based on, which the binary then reports; empty means
	// unknown, reported as v0.0.0.
	Version string

	// Dir, if set, is a directory with the component's own sources and
	// go.mod. It is read, never written.
	Dir string

	// Unedited leaves out our edits of the sources: what runs in a pod
	// listens on all of the pod's addresses, as its upstream wants.
	Unedited bool
}

// ParseRequest reads NAME, NAME@VERSION, NAME=VERSION or NAME=DIRECTORY. What
// stands after the sign is a directory if it looks like a path: it holds a
// separator or begins with a dot.
func ParseRequest(s string) (Request, error) {
	i := strings.IndexAny(s, "@=")
	if i < 0 {
		i = len(s)
	}
	r := Request{Component: s[:i]}
	if r.Component == "" {
		return Request{}, fmt.Errorf("%q names no component: want NAME, NAME@VERSION or NAME=DIRECTORY", s)
	}
	if i == len(s) {
		return r, nil
	}
	switch value := s[i+1:]; {
	case value == "":
		return Request{}, fmt.Errorf("%q: nothing after %q", s, s[i:i+1])
	case strings.HasPrefix(value, ".") || strings.ContainsRune(value, filepath.Separator):
		r.Dir = value
	default:
		r.Version = value
	}
	return r, nil
}

// find looks a component up by name. An unknown name is ErrUnknownComponent
// and names the nearest.
func find(components []Component, name string) (Component, error) {
	names := make([]string, len(components))
	for i, c := range components {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	return Component{}, fmt.Errorf("%w %q%s; there are %s",
		ErrUnknownComponent, name, nearest.Hint(name, names), strings.Join(names, ", "))
}

// checkVersion refuses what is not a full version before anything is asked of
// the network, and before the version becomes part of a path.
func checkVersion(c Component, version string) error {
	if semver.IsValid(version) && semver.Canonical(version)+semver.Build(version) == version {
		return nil
	}
	hint := "want a full version such as " + c.Default
	if v := "v" + version; semver.IsValid(v) && semver.Canonical(v) == v {
		hint = "did you mean " + v + "?"
	}
	return fmt.Errorf("%w: %s %q is not a version: %s", ErrVersionUnavailable, c.Name, version, hint)
}

// packages are the import paths of the programs below a module path.
func (c Component) packages() []string {
	if c.Recipe == RecipeOwn && c.Sources == nil {
		return []string{"reckon.build/" + c.Name}
	}
	out := make([]string, len(c.Programs))
	for i, p := range c.Programs {
		out[i] = c.Module
		if p.Package != "." {
			out[i] += "/" + p.Package
		}
	}
	return out
}

// ldflags is the value of go build's -ldflags. Symbol tables are stripped:
// the binaries are run, not debugged, and are a third smaller.
func (c Component) ldflags(version, sum string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	fill := strings.NewReplacer("{version}", version, "{major}", major, "{minor}", minor, "{sum}", sum)
	var b strings.Builder
	b.WriteString("-s -w")
	if c.CGO {
		b.WriteString(" -linkmode=external -extldflags=-static")
	}
	for _, x := range c.LDFlags {
		b.WriteString(" -X " + fill.Replace(x))
	}
	return b.String()
}
