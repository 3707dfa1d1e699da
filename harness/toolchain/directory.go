package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// directorySource builds a component from a directory with its sources: a
// patched controller. The directory's own go.mod decides, and is not changed.
type directorySource struct {
	compilation
	dir  string // absolute
	base string // release it is based on, or empty

	hash string // set by Identify
}

// Identify hashes the directory.
func (s *directorySource) Identify(context.Context) (Identity, error) {
	var err error
	if s.hash, err = s.content(); err != nil {
		return Identity{}, err
	}
	s.version = "dir:" + s.hash[:12]
	s.meter.event.Version = s.version
	ldflags := s.ldflags()
	return Identity{
		Version: s.version,
		Origin: Origin{Kind: FromDirectory, Module: s.component.Module, Dir: s.dir,
			Hash: s.hash, Base: s.base, LDFlag: ldflags, Edits: s.component.Edits},
		Inputs: append([]string{s.hash, ldflags}, s.packages()...),
	}, nil
}

// ldflags makes the binary report the release it is based on and the content,
// as semantic versioning's build metadata.
func (s *directorySource) ldflags() string {
	base := s.base
	if base == "" {
		base = "v0.0.0"
	}
	return s.component.ldflags(base+"+dir."+s.hash[:12], s.hash)
}

func (s *directorySource) packages() []string {
	out := make([]string, len(s.component.Programs))
	for i, p := range s.component.Programs {
		out[i] = "./" + strings.TrimPrefix(p.Package, ".")
	}
	return out
}

// Make compiles in the directory, and fails if the directory changed
// meanwhile: the binary would stand under the wrong key.
func (s *directorySource) Make(ctx context.Context, dir, work string) error {
	s.meter.phase(PhaseResolve)
	flags := []string{"-ldflags=" + s.ldflags()}
	overlay, err := s.overlay(s.dir, work)
	if err != nil {
		return err
	}
	if overlay != "" {
		flags = append(flags, "-overlay="+overlay)
	}
	if err := s.compile(ctx, s.dir, s.packages(), flags, dir, work); err != nil {
		return err
	}
	if err := copyAssets(s.component, s.dir, dir); err != nil {
		return err
	}
	after, err := s.content()
	if err != nil {
		return err
	}
	if after != s.hash {
		return fmt.Errorf("%w: %s changed during the build, build again", ErrDirectory, s.dir)
	}
	return nil
}

// content hashes what a build of the directory can read: its tree, and the
// trees by which its go.mod replaces modules.
func (s *directorySource) content() (string, error) {
	mod, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	f, err := modfile.Parse(filepath.Join(s.dir, "go.mod"), mod, nil)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	if f.Module == nil || f.Module.Mod.Path != s.component.Module {
		return "", fmt.Errorf("%w: %s is not the root of module %s (see its go.mod)", ErrDirectory, s.dir, s.component.Module)
	}
	h := sha256.New()
	if err := hashTree(h, s.dir); err != nil {
		return "", fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	for _, r := range f.Replace {
		if r.New.Version != "" || filepath.IsLocal(r.New.Path) {
			continue // a module, or below the directory and hashed with it
		}
		other := r.New.Path
		if !filepath.IsAbs(other) {
			other = filepath.Join(s.dir, other)
		}
		fmt.Fprintf(h, "replace %s %s\n", r.Old.Path, r.Old.Version)
		if err := hashTree(h, other); err != nil {
			return "", fmt.Errorf("%w: %w", ErrDirectory, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashTree hashes all files that a go build may read: sources, go.mod and
// go.sum, and, since //go:embed may name any file, everything else but tests,
// hidden directories and node_modules.
func hashTree(h hash.Hash, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return hashFile(h, filepath.ToSlash(rel), path)
	})
}

// hashFile adds a name and the content's digest. Links count as what they
// point to, as they do for the compiler; dangling ones and special files by
// their name only.
func hashFile(h hash.Hash, name, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		fmt.Fprintf(h, "%q other\n", name)
		return nil
	}
	digest, _, err := digestFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%q %s\n", name, digest)
	return nil
}

// digestFile returns the SHA-256 of a file in hex, and its size in bytes.
func digestFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}
