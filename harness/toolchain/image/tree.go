package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// epoch is the time of every file in every image.
var epoch = time.Unix(0, 0).UTC()

// Tree is the content of a layer: files by their path, without a leading slash.
// What is added later replaces what was there.
type Tree struct{ entries map[string]entry }

// entry is a file of a tree: its header, and where its bytes come from.
type entry struct {
	header tar.Header
	source string // path on this machine; empty: data
	data   []byte
}

// NewTree is empty.
func NewTree() *Tree { return &Tree{entries: map[string]entry{}} }

func (t *Tree) put(name string, e entry) {
	name = strings.Trim(path.Clean("/"+name), "/")
	if name == "" {
		return
	}
	e.header.Name, e.header.ModTime, e.header.Format = name, epoch, tar.FormatPAX
	t.entries[name] = e
}

// Data adds a file with the given content.
func (t *Tree) Data(name string, mode fs.FileMode, data []byte) {
	t.put(name, entry{header: tar.Header{Typeflag: tar.TypeReg, Mode: int64(mode.Perm()), Size: int64(len(data))}, data: data})
}

// Link adds a symbolic link.
func (t *Tree) Link(name, to string) {
	t.put(name, entry{header: tar.Header{Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: to}})
}

// Dir adds a directory. Directories above files need no mention.
func (t *Tree) Dir(name string, mode fs.FileMode) {
	t.put(name, entry{header: tar.Header{Typeflag: tar.TypeDir, Mode: int64(mode.Perm())}})
}

// File adds a regular file of this machine, or what a link points to.
func (t *Tree) File(name string, mode fs.FileMode, source string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", source)
	}
	t.put(name, entry{header: tar.Header{Typeflag: tar.TypeReg, Mode: int64(mode.Perm()), Size: info.Size()}, source: source})
	return nil
}

// Root adds a root file system as it is, with owners, modes, links and hard
// links. Sockets and pipes are left out, and what skip says; of a directory that
// is skipped, everything below it too.
func (t *Tree) Root(dir string, skip func(name string) bool) error {
	first := map[uint64]string{} // by inode, of files with several names
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || name == "." {
			return err
		}
		if skip != nil && skip(filepath.ToSlash(name)) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return t.rootEntry(file, filepath.ToSlash(name), first)
	})
}

func (t *Tree) rootEntry(file, name string, first map[uint64]string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
		return nil
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(file); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	kept := tar.Header{Typeflag: h.Typeflag, Linkname: h.Linkname, Mode: h.Mode, Uid: int(stat.Uid), Gid: int(stat.Gid), Size: h.Size}
	if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
		kept.Devmajor, kept.Devminor = int64(unix.Major(stat.Rdev)), int64(unix.Minor(stat.Rdev))
	}
	if h.Typeflag == tar.TypeReg && stat.Nlink > 1 {
		if other, ok := first[stat.Ino]; ok {
			kept.Typeflag, kept.Linkname, kept.Size = tar.TypeLink, other, 0
		} else {
			first[stat.Ino] = name
		}
	}
	t.put(name, entry{header: kept, source: file})
	return nil
}

// write writes the tree as a tar file: sorted, with all directories above.
func (t *Tree) write(w io.Writer) error {
	all := maps.Clone(t.entries)
	for name := range t.entries {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = entry{header: tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: epoch, Format: tar.FormatPAX}}
			}
		}
	}
	tw := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].write(tw); err != nil {
			return fmt.Errorf("layer: %s: %w", name, err)
		}
	}
	return tw.Close()
}

func (e entry) write(tw *tar.Writer) error {
	h := e.header
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	if err := tw.WriteHeader(&h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if e.source == "" {
		_, err := io.Copy(tw, bytes.NewReader(e.data))
		return err
	}
	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(tw, f)
	return err
}
