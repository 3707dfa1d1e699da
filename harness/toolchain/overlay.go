package toolchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Edit is a change to one source file of a component. Neither the module cache
// nor a user's directory is written: a module is copied and a directory is
// overlaid (go build's -overlay refuses files of the module cache). Edits are
// part of the key and of the recorded origin.
type Edit struct {
	File string `json:"file"` // relative to the module's root
	Old  string `json:"old"`  // text that stands there exactly once
	New  string `json:"new"`
	Why  string `json:"why"`
}

// edited returns the files below root that the edits change, with their new
// text, by path. A source that reads as edited already needs nothing; one with
// neither text is an error, because what the edit is for would silently be missing.
func (c *compilation) edited(root string) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range c.component.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s %s has no %s, where reckon %s", c.component.Name, c.version, e.File, e.Why)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case strings.Count(string(text), e.Old) == 1:
			out[path] = strings.Replace(string(text), e.Old, e.New, 1)
		case !strings.Contains(string(text), e.New):
			return nil, fmt.Errorf("%s %s: %s does not hold %q once, where reckon %s", c.component.Name, c.version, e.File, e.Old, e.Why)
		}
	}
	return out, nil
}

// copied copies the component's sources from root into dir, edited.
func (c *compilation) copied(root, dir string) error {
	if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
		return fmt.Errorf("copying the sources of %s: %w", c.component.Name, err)
	}
	edited, err := c.edited(dir)
	if err != nil {
		return err
	}
	for path, text := range edited {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// overlay writes the edited files and the map that go build reads into work,
// and returns the map's path, "" when there is nothing to edit.
func (c *compilation) overlay(root, work string) (string, error) {
	edited, err := c.edited(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range edited {
		replace[path] = filepath.Join(work, fmt.Sprintf("edit%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if len(replace) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "overlay.json")
	return file, os.WriteFile(file, raw, 0o644)
}
