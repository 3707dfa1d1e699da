package toolchain

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Programs of ours that run in images: they have to be made where there is
// nothing but this binary, so it carries their sources.
//
//go:embed own
var own embed.FS

// ownSource builds a program of ours. It uses the standard library only.
type ownSource struct{ compilation }

// Identify hashes the sources.
func (s *ownSource) Identify(context.Context) (Identity, error) {
	h := sha256.New()
	err := s.each(func(name string, text []byte) error {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(text))
		return nil
	})
	sum := hex.EncodeToString(h.Sum(nil))
	return Identity{
		Version: s.component.Default,
		Origin:  Origin{Kind: FromReckon, Module: s.component.Module, Hash: sum, LDFlag: s.component.ldflags("", "")},
		Inputs:  []string{sum},
	}, err
}

// Make writes the sources out and compiles them.
func (s *ownSource) Make(ctx context.Context, dir, work string) error {
	src := filepath.Join(work, "source")
	if err := (pin{mod: []byte("module " + s.component.Module + "\n\ngo 1.26\n")}).write(src); err != nil {
		return err
	}
	err := s.each(func(name string, text []byte) error {
		return os.WriteFile(filepath.Join(src, name), text, 0o644)
	})
	if err != nil {
		return err
	}
	return s.compile(ctx, src, []string{"."}, []string{"-ldflags=" + s.component.ldflags("", "")}, dir, work)
}

// each calls do with all sources, in order.
func (s *ownSource) each(do func(name string, text []byte) error) error {
	dir := path.Join("own", s.component.Name)
	entries, err := fs.ReadDir(own, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := own.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := do(e.Name(), text); err != nil {
			return err
		}
	}
	return nil
}
