package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"slices"

	"golang.org/x/mod/semver"
	"golang.org/x/sync/errgroup"
)

// Entry is what there is of one component.
type Entry struct {
	Component string
	Default   string
	Cached    []Artifact

	// Available are the releases that can be built with the installed Go,
	// oldest first. If the registry could not be asked, Offline says why
	// and these are the releases known to build.
	Available []string
	Offline   error
}

// List says what is cached and which versions can be had, in the catalogue's
// order. It asks the module registry once a component.
func (b *Builder) List(ctx context.Context) ([]Entry, error) {
	s, err := b.workshop(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(s.components))
	g, ctx := errgroup.WithContext(ctx)
	for i, c := range s.components {
		g.Go(func() error {
			e := Entry{Component: c.Name, Default: c.Default}
			var err error
			if e.Cached, err = s.cache.entries(c.Name); err != nil {
				return err
			}
			e.Available, e.Offline = availableVersions(ctx, s.gocmd, c, s.goVer)
			out[i] = e
			return ctx.Err()
		})
	}
	return out, g.Wait()
}

// Versions returns the releases of a component that can be built here, oldest
// first. If the registry cannot be asked, it returns those known to build
// together with the error.
func (b *Builder) Versions(ctx context.Context, component string) ([]string, error) {
	s, err := b.workshop(ctx)
	if err != nil {
		return nil, err
	}
	c, err := find(s.components, component)
	if err != nil {
		return nil, err
	}
	return availableVersions(ctx, s.gocmd, c, s.goVer)
}

// availableVersions joins what the registry lists and what is known to build:
// a registry may serve a version without listing it.
func availableVersions(ctx context.Context, g *goCommand, c Component, goVer string) ([]string, error) {
	if c.Recipe == RecipeOwn || c.Recipe == RecipeDebian { // no registry has them
		return c.Known, nil
	}
	listed, err := listVersions(ctx, g, c.Module)
	return offer(c, listed, goVer), err
}

func listVersions(ctx context.Context, g *goCommand, module string) ([]string, error) {
	out, err := g.run(ctx, goRun{args: []string{"list", "-m", "-versions", "-json", module},
		env: []string{"GOFLAGS=-mod=mod"}, dir: "/"}) // outside of any module
	if failed, ok := err.(*goError); ok {
		if kind := classify(failed.tail); kind != nil {
			return nil, fmt.Errorf("listing the versions of %s: %w: %w", module, kind, failed)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listing the versions of %s: %w", module, err)
	}
	var m struct{ Versions []string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, fmt.Errorf("listing the versions of %s: %w", module, err)
	}
	return m.Versions, nil
}

// offer leaves out pre-releases that are not known, releases too old to build and those that want
// a newer Go than goVer.
func offer(c Component, listed []string, goVer string) []string {
	all := slices.Concat(listed, c.Known)
	all = slices.DeleteFunc(all, func(v string) bool {
		needs := c.NeedsGo[v]
		return !semver.IsValid(v) || semver.Prerelease(v) != "" && !slices.Contains(c.Known, v) || semver.Compare(v, c.Oldest) < 0 ||
			needs != "" && version.Compare("go"+needs, goVer) > 0
	})
	slices.SortFunc(all, semver.Compare)
	return slices.Compact(all)
}
