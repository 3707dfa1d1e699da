package toolchain

import (
	"bytes"
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

// notOurs is what the sources begin with that import modules which reckon itself
// does not need: the go command passes them by until they are written out.
const notOurs = "//go:build ignore\n"

// ownSource builds a program of ours: of the standard library, or with modules
// at the versions of the component's pin.
type ownSource struct {
	compilation
	pin pin // set by Identify
}

// Identify hashes the sources and the pin.
func (s *ownSource) Identify(context.Context) (Identity, error) {
	s.pin = pin{mod: []byte("module " + s.component.packages()[0] + "\n\ngo 1.26\n")}
	if s.component.Pin != "" {
		var err error
		if s.pin, err = committedPin(s.component.Pin); err != nil {
			return Identity{}, err
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%x %x\n", sha256.Sum256(s.pin.mod), sha256.Sum256(s.pin.sum))
	err := s.each(func(name string, text []byte) error {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(text))
		return nil
	})
	sum := hex.EncodeToString(h.Sum(nil))
	return Identity{
		Version: s.version,
		Origin: Origin{Kind: FromReckon, Module: s.component.Module, Hash: sum,
			Sum: s.pin.moduleSum(s.component.Module, s.version), LDFlag: s.component.ldflags("", "")},
		Inputs: []string{sum},
	}, err
}

// Make writes the sources out and compiles them.
func (s *ownSource) Make(ctx context.Context, dir, work string) error {
	src := filepath.Join(work, "source")
	if err := s.pin.write(src); err != nil {
		return err
	}
	err := s.each(func(name string, text []byte) error {
		file := filepath.Join(src, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, bytes.TrimPrefix(text, []byte(notOurs)), 0o644)
	})
	if err != nil {
		return err
	}
	return s.compile(ctx, src, s.component.packages(), []string{"-ldflags=" + s.component.ldflags("", "")}, dir, work)
}

// each calls do with all sources, in order.
func (s *ownSource) each(do func(name string, text []byte) error) error {
	files := s.component.Sources
	if files == nil {
		var err error
		if files, err = fs.Sub(own, path.Join("own", s.component.Name)); err != nil {
			return err
		}
	}
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return do(name, text)
	})
}
