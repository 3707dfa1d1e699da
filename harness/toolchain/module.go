package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go/version"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// moduleSource builds a component from its published module, in a build module
// that pins the version of everything.
type moduleSource struct {
	compilation
	cache cache
	goVer string

	pin pin // set by Identify
}

// Identify reads the pin: the committed one for the default version, the one
// in the cache for a version seen before, and else one that it resolves now.
func (s *moduleSource) Identify(ctx context.Context) (Identity, error) {
	var err error
	if s.pin, err = s.findPin(ctx); err != nil {
		return Identity{}, err
	}
	sum := s.pin.moduleSum(s.component.Module, s.version)
	ldflags := s.ldflags()
	return Identity{
		Version: s.version,
		Origin:  Origin{Kind: FromModule, Module: s.component.Module, Sum: sum, LDFlag: ldflags, Edits: s.component.Edits},
		Inputs:  append([]string{string(s.pin.mod), string(s.pin.sum), ldflags}, s.component.packages()...),
	}, nil
}

func (s *moduleSource) ldflags() string {
	sum := s.pin.moduleSum(s.component.Module, s.version)
	if sum == "" {
		sum = "module"
	}
	return s.component.ldflags(s.version, sum)
}

// Make compiles in a copy of the pin and takes the assets from the module
// cache, which the build has just filled.
func (s *moduleSource) Make(ctx context.Context, dir, work string) error {
	build := filepath.Join(work, "module")
	if err := s.pin.write(build); err != nil {
		return err
	}
	s.meter.phase(PhaseResolve)
	root, err := s.root(ctx, build)
	if err != nil {
		return s.withVersions(ctx, err)
	}
	if len(s.component.Edits) > 0 {
		if err := s.replaceByCopy(build, root, filepath.Join(work, "source")); err != nil {
			return err
		}
	}
	if err := s.compile(ctx, build, s.component.packages(), []string{"-ldflags=" + s.ldflags()}, dir, work); err != nil {
		return s.withVersions(ctx, err)
	}
	return copyAssets(s.component, root, dir)
}

// replaceByCopy makes the build module use an edited copy of the component's
// module. Its requirements are the same, so the pin holds for all others.
func (s *moduleSource) replaceByCopy(build, root, dir string) error {
	if err := s.copied(root, dir); err != nil {
		return err
	}
	file := filepath.Join(build, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return err
	}
	if err := mod.AddReplace(s.component.Module, "", dir, ""); err != nil {
		return err
	}
	if text, err = mod.Format(); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// root downloads the component's module and returns where its sources are.
func (s *moduleSource) root(ctx context.Context, build string) (string, error) {
	out, err := s.gocmd.run(ctx, goRun{dir: build, args: []string{"mod", "download", "-json", s.component.Module}, line: s.meter.download})
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr == nil && m.Error != "" {
		return "", fmt.Errorf("fetching %s %s: %s", s.component.Name, s.version, oneLine(m.Error))
	}
	if err != nil {
		return "", s.explain(err)
	}
	return m.Dir, nil
}

func (s *moduleSource) findPin(ctx context.Context) (pin, error) {
	if s.version == s.component.Default && s.component.Pin != "" {
		return committedPin(s.component.Pin)
	}
	if err := checkVersion(s.component, s.version); err != nil {
		return pin{}, err
	}
	if old := s.component.Oldest; old != "" && semver.Compare(s.version, old) < 0 {
		return pin{}, s.withVersions(ctx, s.versionError(ErrVersionUnavailable, "releases before "+old+" do not build with today's Go"))
	}
	// The programs decide which modules go.sum must hold.
	programs := sha256.Sum256([]byte(strings.Join(s.component.packages(), " ")))
	dir := s.cache.pinDir(s.component.Name, s.version, fmt.Sprintf("%x", programs[:4]))
	if p, err := readPin(dir); !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	l, err := s.cache.lock(ctx, s.component.Name, s.version, s.meter)
	if err != nil {
		return pin{}, err
	}
	defer l.Release()
	if p, err := readPin(dir); err == nil { // another builder was faster
		return p, nil
	}
	err = s.cache.inTemp(s.component.Name, s.version, func(temp, _ string) error {
		if err := s.resolve(ctx, temp); err != nil {
			return err
		}
		return replaceDir(temp, dir)
	})
	if err != nil {
		return pin{}, s.withVersions(ctx, err)
	}
	return readPin(dir)
}

// resolve makes dir the component's build module. Everything fetched is
// verified by Go's checksum database.
func (s *moduleSource) resolve(ctx context.Context, dir string) error {
	s.meter.phase(PhaseResolve)
	// A module of our own keeps the go command from finding one above dir.
	if err := (pin{mod: []byte("module reckon.build/resolve\n")}).write(dir); err != nil {
		return err
	}
	own, err := s.fetchModFile(ctx, dir)
	if err != nil {
		return err
	}
	mod, err := buildModule(s.component.Name, s.component.Module, s.version, own)
	if err != nil {
		return err
	}
	if err := (pin{mod: mod}).write(dir); err != nil {
		return err
	}
	for _, p := range s.component.packages() {
		// One at a time: a tool directive keeps the package's own
		// dependencies in go.mod and go.sum, and nothing else.
		args := []string{"get", "-tool", p + "@" + s.version}
		env := []string{"GOFLAGS=" + strings.Replace(lookup(s.gocmd.env, "GOFLAGS"), "-mod=readonly", "-mod=mod", 1)}
		if _, err := s.gocmd.run(ctx, goRun{dir: dir, env: env, args: args, line: s.meter.download}); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// fetchModFile downloads the module and returns its go.mod. It tells a version
// that is not served, or that wants a newer Go, from other failures.
func (s *moduleSource) fetchModFile(ctx context.Context, dir string) ([]byte, error) {
	at := s.component.Module + "@" + s.version
	s.meter.send(PhaseDownload, 0, 0, at)
	// With -json the error is part of the output.
	out, err := s.gocmd.run(ctx, goRun{dir: dir, args: []string{"mod", "download", "-json", at}})
	var m struct{ Error, GoMod string }
	if json.Unmarshal(out, &m) != nil || (m.Error == "" && err != nil) {
		return nil, s.explain(err)
	}
	own, readErr := os.ReadFile(m.GoMod)
	if readErr == nil {
		if e := s.tooOld(own); e != nil {
			return nil, e
		}
	}
	if m.Error == "" {
		return own, readErr
	}
	switch kind := classify(m.Error); kind {
	case nil:
		return nil, s.versionError(ErrVersionUnavailable, "the module registry says: "+oneLine(m.Error))
	case ErrGoTooOld:
		return nil, s.versionError(kind, oneLine(m.Error))
	default:
		return nil, fmt.Errorf("fetching %s %s: %w: %s", s.component.Name, s.version, kind, oneLine(m.Error))
	}
}

// tooOld compares the go line of a go.mod with the installed Go.
func (s *moduleSource) tooOld(mod []byte) error {
	f, err := modfile.ParseLax("go.mod", mod, nil)
	if err != nil || f.Go == nil || version.Compare("go"+f.Go.Version, s.goVer) <= 0 {
		return nil
	}
	return s.versionError(ErrGoTooOld, fmt.Sprintf("its go.mod wants go %s, here is %s", f.Go.Version, s.goVer))
}

func (s *moduleSource) versionError(kind error, reason string) *VersionError {
	return &VersionError{Kind: kind, Component: s.component.Name, Version: s.version, Reason: reason}
}

// withVersions adds the versions that can be had to a VersionError.
func (s *moduleSource) withVersions(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*VersionError](err); ok {
		e.Available, _ = availableVersions(ctx, s.gocmd, s.component, s.goVer)
	}
	return err
}
