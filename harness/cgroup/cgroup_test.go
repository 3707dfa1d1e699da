package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"reckon.dev/reckon/harness/process"
)

func TestCountsAreReadInBothVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		version int
		want    Stat
	}{
		"version 1": {"nr_periods 17\nnr_throttled 5\nthrottled_time 123456789\nnr_bursts 0\nburst_time 0\n", 1, Stat{Periods: 17, Throttled: 5, Lost: 123456789}},
		"version 2": {"usage_usec 2500000\nuser_usec 1\nsystem_usec 2\nnr_periods 17\nnr_throttled 5\nthrottled_usec 1200\n", 2, Stat{Periods: 17, Throttled: 5, Lost: 1200 * time.Microsecond, Use: 2500 * time.Millisecond}},
	} {
		if got, err := parseStat(c.text, c.version); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{"no limit": "usage_usec 1\n", "no number": "nr_periods many\n"} {
		if got, err := parseStat(text, 2); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestALimitIsWrittenInBothVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{
		1: "[{cpu.cfs_period_us 100000} {cpu.cfs_quota_us 60000} {cpu.shares 262144}]",
		2: "[{cpu.max 60000 100000} {cpu.weight 10000}]",
	} {
		if got := fmt.Sprint(settings(version, 60*time.Millisecond, 100*time.Millisecond)); got != want {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
	}
}

func TestAGroupTellsWhoMadeIt(t *testing.T) {
	t.Parallel()
	self, err := process.Self()
	if err != nil {
		t.Skip(err)
	}
	if owner, ok := ownerOf(prefix(self) + "istiod-0"); !ok || owner != self || !owner.Alive() {
		t.Errorf("%+v, want %+v", owner, self)
	}
	gone := self
	gone.Start++
	if owner, ok := ownerOf(prefix(gone) + "istiod-0"); !ok || owner.Alive() {
		t.Errorf("%+v is alive", owner)
	}
	for _, name := range []string{"reckon-", "reckon-1-x", "reckon-a-b-c"} {
		if owner, ok := ownerOf(name); ok {
			t.Errorf("%s is of %+v", name, owner)
		}
	}
}

// A child in a group is throttled, its maker is not, and nothing is left of a group
// whose maker is gone.
func TestALimitIsEnforced(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps a CPU busy for a moment; not with -short")
	}
	g, err := New("test", 10*time.Millisecond, 100*time.Millisecond)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // not unlocked: whatever group it is in, it ends with the test
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.Start(cmd.SysProcAttr, cmd.Start); err != nil {
		t.Fatal(errors.Join(err, g.Remove()))
	}
	own, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil || strings.Contains(string(own), ours) {
		t.Errorf("this thread is in %s (%v)", own, err)
	}
	var s Stat
	for end := time.Now().Add(10 * time.Second); s.Throttled < 3 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s, err = g.Stat(); err != nil {
			t.Error(err)
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if s.Throttled < 3 || s.Periods < s.Throttled || s.Lost <= 0 || s.Use <= 0 {
		t.Errorf("an endless loop with a tenth of a CPU: %+v", s)
	}
	abandoned := g.dirs
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	gone := self
	gone.Start++
	left := filepath.Join(filepath.Dir(abandoned[0]), prefix(gone)+"test")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	sweep(filepath.Dir(abandoned[0]))
	for _, dir := range append(abandoned, left) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}
