package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reckon.dev/reckon/harness/filelock"
)

// cache is the directory of everything built:
//
//	bin/<component>/<version>-<short key>/   manifest.json, bin/, assets/
//	images/<component>/<tag>/                image.json, image.tar of a component's programs
//	pins/<component>@<version>-<programs>/   go.mod, go.sum of versions not pinned in the source
//	locks/<component>@<version>.lock         held while one of the above is made
//	tmp/<component>@<version>/<random>/      what is being made; garbage unless its lock is held
//
// Entries come into being by one rename, so there is no half entry.
type cache struct{ dir string }

// Artifact is a built component in the cache.
type Artifact struct {
	Component string    `json:"component"`
	Version   string    `json:"version"`
	Key       string    `json:"key"` // SHA-256 in hex of everything that decides the content
	Origin    Origin    `json:"origin"`
	Binaries  []Binary  `json:"binaries"`
	Images    []Image   `json:"images,omitempty"`
	Assets    string    `json:"assets,omitempty"` // directory of the component's manifests, or empty
	Go        string    `json:"go"`               // e.g. go1.26.8
	Platform  string    `json:"platform"`         // e.g. linux/amd64
	Built     time.Time `json:"built"`            // UTC
	Took      float64   `json:"tookSeconds"`      // wall time of the build, s
	Size      int64     `json:"size"`             // of all files, bytes
	Dir       string    `json:"-"`                // the entry's directory
}

// Binary is one program of an artifact.
type Binary struct {
	Name   string `json:"name"`
	Path   string `json:"path"` // absolute; relative to the entry in the manifest
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// Image is one container image of an artifact, as an archive for docker load.
type Image struct {
	Ref    string `json:"ref"`    // name and tag; the tag holds what decides the content
	Path   string `json:"path"`   // absolute; relative to the entry in the manifest
	Digest string `json:"digest"` // of its manifest
	ID     string `json:"id"`     // of its configuration: what engines call the image's id
	Size   int64  `json:"size"`   // of the archive, bytes
}

// Path returns the path of a program, or an error that names the programs.
func (a Artifact) Path(program string) (string, error) {
	names := make([]string, len(a.Binaries))
	for i, b := range a.Binaries {
		if b.Name == program {
			return b.Path, nil
		}
		names[i] = b.Name
	}
	return "", fmt.Errorf("%s %s has no program %q (it has %s)", a.Component, a.Version, program, strings.Join(names, ", "))
}

// Verify reads all binaries and compares their digests; a difference is
// ErrDamaged.
func (a Artifact) Verify(ctx context.Context) error {
	for _, b := range a.Binaries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		got, _, err := digestFile(b.Path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if got != b.SHA256 {
			return fmt.Errorf("%w: %s has SHA-256 %s, was built with %s", ErrDamaged, b.Path, got, b.SHA256)
		}
	}
	return nil
}

const manifest = "manifest.json"

// imageList is where a source says what images it made, for seal.
const imageList = "images.json"

func fileName(version string) string { return strings.ReplaceAll(version, ":", "-") }

func targetName(component, version string) string { return component + "@" + fileName(version) }

func (c cache) entryDir(component, version, key string) string {
	return filepath.Join(c.dir, "bin", component, fileName(version)+"-"+key[:12])
}

func (c cache) pinDir(component, version, programs string) string {
	return filepath.Join(c.dir, "pins", targetName(component, version)+"-"+programs)
}

func (c cache) lockPath(target string) string { return filepath.Join(c.dir, "locks", target+".lock") }

// lock takes the lock of a target, reporting if it has to wait, and removes
// what a killed holder left.
func (c cache) lock(ctx context.Context, component, version string, m *meter) (*filelock.Lock, error) {
	target := targetName(component, version)
	l, err := filelock.Acquire(ctx, c.lockPath(target), func() { m.phase(PhaseWait) })
	if err != nil {
		return nil, onDisk(c.dir, err)
	}
	// If this fails, orphaned compilers may still be writing there. The next
	// temporary directory has another name, so they are in nobody's way.
	_ = os.RemoveAll(filepath.Join(c.dir, "tmp", target))
	return l, nil
}

// inTemp calls do with two new directories in the cache's file system, one
// to be renamed and one for scratch, and removes what is left of both. The
// target's lock must be held.
func (c cache) inTemp(component, version string, do func(dir, work string) error) error {
	parent := filepath.Join(c.dir, "tmp", targetName(component, version))
	defer os.RemoveAll(parent)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return onDisk(c.dir, err)
	}
	temp, err := os.MkdirTemp(parent, "")
	if err != nil {
		return onDisk(c.dir, err)
	}
	dir, work := filepath.Join(temp, "entry"), filepath.Join(temp, "work")
	for _, d := range []string{dir, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return onDisk(c.dir, err)
		}
	}
	return onDisk(c.dir, do(dir, work))
}

// replaceDir renames from to to. What stands there, a damaged entry, goes.
func replaceDir(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// load reads an entry. It checks that all binaries are there with their sizes,
// not their digests: that would cost as much as starting them. An entry that
// fails is an error; one that is not there is fs.ErrNotExist.
func load(dir string) (Artifact, error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifest))
	if err != nil {
		return Artifact{}, err
	}
	var a Artifact
	if err := json.Unmarshal(raw, &a); err != nil {
		return Artifact{}, fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir, manifest), err)
	}
	a.Dir = dir
	for i := range a.Binaries {
		b := &a.Binaries[i]
		b.Path = filepath.Join(dir, b.Path)
		info, err := os.Stat(b.Path)
		if err != nil || info.Size() != b.Size || info.Mode()&0o100 == 0 {
			return Artifact{}, fmt.Errorf("%w: %s is not the file that was built", ErrDamaged, b.Path)
		}
	}
	for i := range a.Images {
		img := &a.Images[i]
		img.Path = filepath.Join(dir, img.Path)
		if info, err := os.Stat(img.Path); err != nil || info.Size() != img.Size {
			return Artifact{}, fmt.Errorf("%w: %s is not the archive that was made", ErrDamaged, img.Path)
		}
	}
	if a.Assets != "" {
		a.Assets = filepath.Join(dir, a.Assets)
		if _, err := os.Stat(a.Assets); err != nil {
			return Artifact{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return a, nil
}

// seal measures what a source made in dir and writes the manifest.
func seal(dir string, a Artifact, programs []Program) error {
	for _, p := range programs {
		rel := filepath.Join("bin", p.Name)
		digest, size, err := digestFile(filepath.Join(dir, rel))
		if err != nil {
			return fmt.Errorf("%s %s: the build made no %s: %w", a.Component, a.Version, p.Name, err)
		}
		a.Binaries = append(a.Binaries, Binary{Name: p.Name, Path: rel, SHA256: digest, Size: size})
	}
	if _, err := os.Stat(filepath.Join(dir, "assets")); err == nil {
		a.Assets = "assets"
	}
	raw, err := os.ReadFile(filepath.Join(dir, imageList))
	if err == nil {
		err = json.Unmarshal(raw, &a.Images)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			a.Size += info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	raw, err = json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifest), append(raw, '\n'), 0o644)
}

// entries loads all whole entries of a component, by directory name.
func (c cache) entries(component string) ([]Artifact, error) {
	parent := filepath.Join(c.dir, "bin", component)
	dirs, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Artifact
	for _, d := range dirs {
		if a, err := load(filepath.Join(parent, d.Name())); err == nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// sweep removes the temporary directories of dead builders that were begun
// before the given time, and returns their paths. Living builders hold their
// target's lock, and are left alone.
func (c cache) sweep(before time.Time) (removed []string, err error) {
	parent := filepath.Join(c.dir, "tmp")
	targets, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, t := range targets {
		dir := filepath.Join(parent, t.Name())
		info, statErr := t.Info()
		if statErr != nil || info.ModTime().After(before) {
			continue
		}
		l, lockErr := filelock.Try(c.lockPath(t.Name()))
		if lockErr != nil {
			return removed, lockErr
		}
		if l == nil {
			continue
		}
		err := os.RemoveAll(dir)
		l.Release()
		if err != nil {
			return removed, err
		}
		removed = append(removed, dir)
	}
	return removed, nil
}
