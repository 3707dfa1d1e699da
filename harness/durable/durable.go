// Package durable writes files that are there as a whole or not at all, also after
// a full disk, a kill or a loss of power.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces a file in one step: what it held before stays until all of the
// new text is on the disk. On an error nothing of the new text is left.
func WriteFile(path string, text []byte) error {
	temp, err := writeBeside(path, text)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(temp))
	}
	return SyncDir(filepath.Dir(path))
}

// writeBeside writes a temporary file in the directory of path, down to the disk.
func writeBeside(path string, text []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
