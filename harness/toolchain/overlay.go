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

// Edit is a change to one source file of a component, made with go build's
// -overlay, so neither a module cache nor a user's directory is written. It is
// part of the key and of the recorded origin.
type Edit struct {
	File string `json:"file"` // relative to the module's root
	Old  string `json:"old"`  // text that stands there exactly once
	New  string `json:"new"`
	Why  string `json:"why"`
}

// overlay writes the edited files and the map that go build reads into work,
// and returns its path, "" when there is nothing to edit. A source that reads
// as edited already needs nothing; one with neither text is an error, because
// what the edit is for would silently be missing.
func (c *compilation) overlay(root, work string) (string, error) {
	replace := map[string]string{}
	for i, e := range c.component.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s %s has no %s, where reckon %s", c.component.Name, c.version, e.File, e.Why)
		}
		if err != nil {
			return "", err
		}
		if strings.Count(string(text), e.Old) != 1 {
			if strings.Contains(string(text), e.New) {
				continue
			}
			return "", fmt.Errorf("%s %s: %s does not hold %q once, where reckon %s", c.component.Name, c.version, e.File, e.Old, e.Why)
		}
		edited := filepath.Join(work, fmt.Sprintf("edit%d.go", i))
		if err := os.WriteFile(edited, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o644); err != nil {
			return "", err
		}
		replace[path] = edited
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
