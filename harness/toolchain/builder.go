// Package toolchain builds the components that drills need (the Kubernetes
// control plane, etcd, kwok, Argo Rollouts) from their Go modules, or from a
// directory with patched sources, and keeps the binaries in a cache keyed by
// everything that decides their content.
package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Builder builds components into a cache. The zero value works: every field
// has a default. A Builder may be used by several goroutines, and several
// processes may use one cache.
type Builder struct {
	Cache      string           // directory; default: reckon below the user's cache directory
	Components []Component      // default: Catalogue()
	Progress   Progress         // default: none
	Now        func() time.Time // default: time.Now
	Go         string           // go command, a name or a path; default: go
	Env        []string         // of the go command; default: os.Environ()
}

// DefaultCache is the cache that a Builder uses if it is not told another.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the build cache: %w", err)
	}
	return filepath.Join(dir, "reckon"), nil
}

// keyFormat changes when the meaning of an entry's content does.
const keyFormat = 1

// Build returns the component from the cache, or builds it first. One builder
// at a time works on one version; others wait for it and take its result.
//
// Errors match ErrUnknownComponent, ErrVersionUnavailable, ErrGoTooOld (both
// as *VersionError, with the versions that can be had), ErrNoNetwork,
// ErrChecksum, ErrNoSpace, ErrNoGo or ErrDirectory, or are a *CompileError. A
// cancelled ctx ends the compilers and returns its cause.
func (b *Builder) Build(ctx context.Context, req Request) (Artifact, error) {
	p, err := b.identify(ctx, req)
	if err != nil {
		return Artifact{}, err
	}
	s, id := p.workshop, p.id
	a := Artifact{
		Component: p.component.Name, Version: id.Version, Origin: id.Origin, Go: s.goVer,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	a.Key = s.key(p.component, a, id.Inputs)
	return s.obtain(ctx, p.component, p.source, a, p.meter)
}

// Check says whether there is what Build would need, without building it. Its
// errors are those of Build.
func (b *Builder) Check(ctx context.Context, req Request) error {
	_, err := b.identify(ctx, req)
	return err
}

// project is a component that is known to be there, before it is built.
type project struct {
	workshop  *workshop
	component Component
	source    Source
	id        Identity
	meter     *meter
}

func (b *Builder) identify(ctx context.Context, req Request) (*project, error) {
	s, err := b.workshop(ctx)
	if err != nil {
		return nil, err
	}
	c, err := find(s.components, req.Component)
	if err != nil {
		return nil, err
	}
	if req.Version == "" && req.Dir == "" {
		req.Version = c.Default
	}
	if req.Unedited {
		c.Edits = nil
	}
	m := newMeter(b.Progress, c.Name, req.Version)
	src, err := s.source(c, req, m)
	if err != nil {
		return nil, err
	}
	id, err := src.Identify(ctx)
	if err != nil {
		return nil, err
	}
	return &project{s, c, src, id, m}, nil
}

// workshop is a builder with its defaults filled in.
type workshop struct {
	components []Component
	cache      cache
	gocmd      *goCommand
	goVer      string
	now        func() time.Time
	builder    *Builder
}

func (b *Builder) workshop(ctx context.Context) (*workshop, error) {
	s := &workshop{components: b.Components, cache: cache{b.Cache}, now: b.Now, builder: b}
	if s.components == nil {
		s.components = Catalogue()
	}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.cache.dir == "" {
		if s.cache.dir, err = DefaultCache(); err != nil {
			return nil, err
		}
	}
	// The go command runs in other directories than ours.
	if s.cache.dir, err = filepath.Abs(s.cache.dir); err != nil {
		return nil, err
	}
	path, env := b.Go, b.Env
	if path == "" {
		path = "go"
	}
	if env == nil {
		env = os.Environ()
	}
	if s.gocmd, err = newGoCommand(path, env); err != nil {
		return nil, err
	}
	s.goVer, err = s.gocmd.version(ctx)
	return s, err
}

// source chooses where the component comes from.
func (s *workshop) source(c Component, req Request, m *meter) (Source, error) {
	job := compilation{component: c, version: req.Version, gocmd: s.gocmd, meter: m}
	if req.Dir != "" && c.Recipe != "" {
		return nil, fmt.Errorf("%w: %s is not compiled from sources of its own", ErrDirectory, c.Name)
	}
	switch c.Recipe {
	case RecipeOwn:
		if req.Version != c.Default {
			return nil, &VersionError{Kind: ErrVersionUnavailable, Component: c.Name, Version: req.Version,
				Reason: "reckon carries one version of it", Available: c.Known}
		}
		return &ownSource{compilation: job}, nil
	case RecipeDebian:
		return &debianSource{job}, nil
	case RecipeNode:
		return &nodeSource{compilation: job, builder: s.builder}, nil
	}
	if req.Dir == "" {
		return &moduleSource{compilation: job, cache: s.cache, goVer: s.goVer}, nil
	}
	if req.Version != "" {
		if err := checkVersion(c, req.Version); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(req.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	return &directorySource{compilation: job, dir: dir, base: req.Version}, nil
}

// key hashes everything that decides an entry's content.
func (s *workshop) key(c Component, a Artifact, inputs []string) string {
	raw, err := json.Marshal(struct {
		Format    int
		Component Component
		Version   string
		Go        string
		Platform  string
		Env       []string
		Flags     [len(buildFlags)]string
		Inputs    []string
	}{keyFormat, c.content(), a.Version, a.Go, a.Platform, s.gocmd.outputEnv(), buildFlags, inputs})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// content is the part of a component that decides what an entry holds.
func (c Component) content() Component {
	return Component{Name: c.Name, Module: c.Module, Programs: c.Programs, LDFlags: c.LDFlags, Assets: c.Assets, Edits: c.Edits,
		Recipe: c.Recipe, Packages: c.Packages, Tags: c.Tags, CGO: c.CGO}
}

// obtain returns the entry of a, making it if need be.
func (s *workshop) obtain(ctx context.Context, c Component, src Source, a Artifact, m *meter) (Artifact, error) {
	entry := s.cache.entryDir(a.Component, a.Version, a.Key)
	hit := func() (Artifact, bool) {
		got, err := load(entry) // a damaged entry is made again
		if err != nil || got.Key != a.Key {
			return Artifact{}, false
		}
		m.phase(PhaseReady)
		return got, true
	}
	if got, ok := hit(); ok {
		return got, nil
	}
	l, err := s.cache.lock(ctx, a.Component, a.Version, m)
	if err != nil {
		return Artifact{}, err
	}
	defer l.Release()
	if got, ok := hit(); ok { // made while this builder waited
		return got, nil
	}
	began := s.now()
	err = s.cache.inTemp(a.Component, a.Version, func(dir, work string) error {
		if err := src.Make(ctx, dir, work); err != nil {
			return err
		}
		a.Built = s.now().UTC()
		a.Took = a.Built.Sub(began).Seconds()
		if err := seal(dir, a, c.Programs); err != nil {
			return err
		}
		return replaceDir(dir, entry)
	})
	if err != nil {
		return Artifact{}, err
	}
	m.phase(PhaseReady)
	return load(entry)
}

// Cached says whether some entry of the component at its default version, or the
// one given, is in the cache. Building it may still have to make a newer one.
func (b *Builder) Cached(ctx context.Context, req Request) bool {
	s, err := b.workshop(ctx)
	if err != nil {
		return false
	}
	c, err := find(s.components, req.Component)
	if err != nil {
		return false
	}
	if req.Version == "" {
		req.Version = c.Default
	}
	entries, err := s.cache.entries(c.Name)
	return err == nil && slices.ContainsFunc(entries, func(a Artifact) bool { return a.Version == req.Version })
}

// Clean removes what killed builders left in the cache and is older than the
// given age, and returns the removed paths. Builders at work are left alone.
func (b *Builder) Clean(_ context.Context, olderThan time.Duration) ([]string, error) {
	dir, now := b.Cache, time.Now
	if b.Now != nil {
		now = b.Now
	}
	if dir == "" {
		var err error
		if dir, err = DefaultCache(); err != nil {
			return nil, err
		}
	}
	return cache{dir}.sweep(now().Add(-olderThan))
}
