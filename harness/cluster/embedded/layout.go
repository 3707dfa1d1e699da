package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// layout knows where things are in the directory of one cluster.
//
//	<root>/<name>/cluster.json   what the cluster is and which processes it has
//	              kubeconfig     for people and controllers, administrator
//	              pki/           certificates, keys, kubeconfigs of components
//	              config/        configuration files of components
//	              etcd/          data, thrown away
//	              logs/*.log
type layout struct{ dir string }

func (l layout) state() string                 { return filepath.Join(l.dir, "cluster.json") }
func (l layout) kubeconfig() string            { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) pki(file string) string        { return filepath.Join(l.dir, "pki", file) }
func (l layout) config(file string) string     { return filepath.Join(l.dir, "config", file) }
func (l layout) etcdData() string              { return filepath.Join(l.dir, "etcd") }
func (l layout) logs() string                  { return filepath.Join(l.dir, "logs") }
func (l layout) log(component string) string   { return filepath.Join(l.logs(), component+".log") }
func (l layout) cert(name string) string       { return l.pki(name + ".crt") }
func (l layout) key(name string) string        { return l.pki(name + ".key") }
func (l layout) componentConf(n string) string { return l.pki(n + ".kubeconfig") }
func clusterDir(root, name string) string      { return filepath.Join(root, name) }
func isScratch(entry string) bool              { return strings.HasPrefix(entry, scratchPrefix) }
func scratchPattern(purpose string) string     { return scratchPrefix + purpose + "-*" }

// Scratch directories are clusters on their way in or out: invisible to List,
// and never mistaken for somebody else's directory by Clean.
const scratchPrefix = ".reckon-"

// makeDirs makes the tree. 0700: keys lie below.
func (l layout) makeDirs() error {
	for _, dir := range []string{"pki", "config", "etcd", "logs"} {
		if err := os.Mkdir(filepath.Join(l.dir, dir), 0o700); err != nil {
			return explain(err)
		}
	}
	return nil
}

// writeFile writes a private file.
func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return explain(err)
	}
	return nil
}

// replaceFile writes a private file that readers see whole or not at all.
func replaceFile(path string, data []byte) error {
	next := path + ".next"
	if err := writeFile(next, data); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return explain(err)
	}
	return nil
}

// explain says in words what a bare ENOSPC means.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk that holds the cluster is full: %w", err)
	case errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk quota of this user is used up: %w", err)
	}
	return err
}

// removeTree makes a directory vanish at once and then removes it: a cluster
// half removed must not look like a cluster.
func removeTree(dir string) error {
	gone, err := os.MkdirTemp(filepath.Dir(dir), scratchPattern("gone"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		// A full disk may refuse the new directory and still let us remove.
		return os.RemoveAll(dir)
	}
	err = os.Rename(dir, filepath.Join(gone, "cluster"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(gone))
}
