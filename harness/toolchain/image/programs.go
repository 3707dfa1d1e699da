package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Programs adds programs of a root file system with everything that they need
// to run: what their links point to, their loader and their libraries. Patterns
// name further files, e.g. plugins.
func (t *Tree) Programs(root string, programs []string, patterns ...string) error {
	c := closure{tree: t, root: root, done: map[string]bool{}}
	// With /usr merged, the loader's name begins with a link.
	for _, dir := range []string{"lib", "lib64", "bin", "sbin"} {
		if to, err := os.Readlink(filepath.Join(root, dir)); err == nil {
			t.Link(dir, to)
		}
	}
	for _, p := range programs {
		if err := c.add(p); err != nil {
			return err
		}
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			name, err := filepath.Rel(root, f)
			if err != nil {
				return err
			}
			if err := c.add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// closure follows links and libraries.
type closure struct {
	tree *Tree
	root string
	done map[string]bool
}

// add adds one file, given by its path below the root.
func (c *closure) add(name string) error {
	name, err := c.resolveDir(name)
	if err != nil {
		return err
	}
	if c.done[name] {
		return nil
	}
	c.done[name] = true
	file := filepath.Join(c.root, name)
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(file)
		if err != nil {
			return err
		}
		c.tree.Link(name, to)
		return c.add(join(path.Dir(name), to))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a link", name)
	}
	if err := c.tree.File(name, info.Mode(), file); err != nil {
		return err
	}
	return c.libraries(name, file)
}

// join resolves a link's target, which may begin at the root.
func join(dir, to string) string {
	if path.IsAbs(to) {
		return strings.TrimPrefix(path.Clean(to), "/")
	}
	return path.Join(dir, to)
}

// resolveDir replaces a first directory that is a link (lib -> usr/lib).
func (c *closure) resolveDir(name string) (string, error) {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	first, rest, ok := strings.Cut(name, "/")
	if !ok {
		return name, nil
	}
	to, err := os.Readlink(filepath.Join(c.root, first))
	if err != nil {
		return name, nil // a directory
	}
	return path.Join(join("", to), rest), nil
}

// libraries adds what a dynamically linked file asks for.
func (c *closure) libraries(name, file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return nil // a script or a table
	}
	defer f.Close()
	if loader := interpreter(f); loader != "" {
		if err := c.add(loader); err != nil {
			return fmt.Errorf("%s: its loader: %w", name, err)
		}
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, lib := range libs {
		if err := c.sharedObject(lib); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (c *closure) sharedObject(lib string) error {
	for _, pattern := range []string{"usr/lib/*/" + lib, "usr/lib/" + lib, "usr/lib64/" + lib} {
		found, err := filepath.Glob(filepath.Join(c.root, pattern))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			name, err := filepath.Rel(c.root, found[0])
			if err != nil {
				return err
			}
			return c.add(name)
		}
	}
	return fmt.Errorf("no library %s below %s", lib, c.root)
}

func interpreter(f *elf.File) string {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		raw := make([]byte, p.Filesz)
		if _, err := p.ReadAt(raw, 0); err != nil {
			return ""
		}
		return strings.TrimRight(string(raw), "\x00")
	}
	return ""
}
