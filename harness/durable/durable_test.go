//go:build linux

package durable_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reckon.dev/reckon/harness/durable"
)

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "verdict.json")
	for _, text := range []string{"the first, which is longer", "the second"} {
		if err := durable.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	wantOnly(t, filepath.Dir(path), "verdict.json")
}

func TestWhatCannotBeWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	if err := durable.WriteFile(filepath.Join(t.TempDir(), "no", "verdict.json"), nil); err == nil {
		t.Error("a file was written into a directory that is not there")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "verdict.json", "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "verdict.json"), nil); err == nil {
		t.Error("a directory was replaced by a file")
	}
	wantOnly(t, dir, "verdict.json")
}

// On a full disk the text of before stays.
func TestAFullDiskKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "verdict.json")
	if err := durable.WriteFile(path, []byte("small")); err != nil {
		t.Fatal(err)
	}
	err := durable.WriteFile(path, []byte(strings.Repeat("large", 10000)))
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "small" {
		t.Errorf("%q, %v", got, err)
	}
	wantOnly(t, dir, "verdict.json")
}

func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("there are %v, want %v", got, names)
	}
}
