// Package cgroup gives a process of this machine a limit on CPU time that the kernel
// enforces, as kubelets give it to containers, and reads what the kernel counts of it.
//
// A group lies below that of this process, or below the nearest one above it where a
// group with a limit can be made. Both versions of cgroups are served: with version 1
// the thread that forks a child is in the group while it does, with version 2 the
// child is made in it.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"reckon.dev/reckon/harness/process"
)

// ErrUnsupported is wrapped where no limit can be set.
var ErrUnsupported = errors.New("no cgroup can be made here that limits CPU time")

// advice is what to do then.
const advice = "run as root, or under `systemd-run --user --scope -p Delegate=yes`, or on provider kind"

// Stat is what the kernel counts.
type Stat struct {
	// Periods in which somebody asked for time, and Throttled those at whose end
	// somebody waited.
	Periods, Throttled int64
	// Use is CPU time; Lost is for how long CPUs waited, all together.
	Use, Lost time.Duration
}

// Group is a cgroup of ours.
type Group struct {
	of   hierarchies
	dirs []string // one, or with version 1 one for limits and one for use
}

// New makes a group for one process, with so much CPU time in each period. It comes
// before others where CPUs are short, so that nothing but its limit holds it up. Groups
// of that kind whose maker is gone are removed.
func New(name string, quota, period time.Duration) (*Group, error) {
	of, err := find("/proc/self")
	if err != nil {
		return nil, fmt.Errorf("%w: %w; %s", ErrUnsupported, err, advice)
	}
	self, err := process.Self()
	if err != nil {
		return nil, err
	}
	g := &Group{of: of}
	if err := g.make(prefix(self)+name, quota, period); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w; %s", ErrUnsupported, err, advice), g.Remove())
	}
	return g, nil
}

// ours begins the names of our groups, followed by who made it: what is left of one
// that was killed is known by that.
const ours = "reckon-"

func prefix(owner process.Identity) string {
	return fmt.Sprintf("%s%d-%d-", ours, owner.PID, owner.Start)
}

func (g *Group) make(name string, quota, period time.Duration) error {
	for _, parents := range g.of.parents {
		dir, err := makeIn(parents, name)
		if err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
	}
	for _, s := range settings(g.of.version, quota, period) {
		if err := write(g.dirs[0], s.file, s.value); err != nil {
			return err
		}
	}
	return nil
}

type setting struct{ file, value string }

// settings are the limit and the greatest weight that there is, in the order in which
// they are written: a quota is of the period that is set.
func settings(version int, quota, period time.Duration) []setting {
	of := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	if version == 2 {
		return []setting{{"cpu.max", of(quota) + " " + of(period)}, {"cpu.weight", "10000"}}
	}
	return []setting{{"cpu.cfs_period_us", of(period)}, {"cpu.cfs_quota_us", of(quota)}, {"cpu.shares", "262144"}}
}

// makeIn makes a directory in the first parent that takes it.
func makeIn(parents []string, name string) (string, error) {
	var errs []error
	for _, parent := range parents {
		sweep(parent)
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// sweep removes groups whose maker is gone. Those that are in use stay, as the kernel
// sees to.
func sweep(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, ours+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		if owner, ok := ownerOf(filepath.Base(dir)); ok && !owner.Alive() {
			_ = syscall.Rmdir(dir)
		}
	}
}

// ownerOf reads the name of a group.
func ownerOf(name string) (process.Identity, bool) {
	parts := strings.SplitN(strings.TrimPrefix(name, ours), "-", 3)
	if len(parts) != 3 {
		return process.Identity{}, false
	}
	pid, err := strconv.Atoi(parts[0])
	start, startErr := strconv.ParseUint(parts[1], 10, 64)
	self, selfErr := process.Self()
	if err != nil || startErr != nil || selfErr != nil {
		return process.Identity{}, false
	}
	return process.Identity{PID: pid, Start: start, Boot: self.Boot}, true // no group outlives its boot
}

// Start starts a child in the group. The function must fork it on the calling thread,
// which must be locked, with the attributes.
func (g *Group) Start(attributes *syscall.SysProcAttr, start func() error) error {
	if g.of.version == 2 {
		dir, err := os.Open(g.dirs[0])
		if err != nil {
			return err
		}
		defer dir.Close()
		makeInside(attributes, dir)
		return start()
	}
	for _, dir := range g.dirs {
		if err := write(dir, "tasks", "0"); err != nil { // the calling thread
			return errors.Join(err, g.leave())
		}
	}
	return errors.Join(start(), g.leave())
}

// leave takes the calling thread back to where it was.
func (g *Group) leave() error {
	var errs []error
	for _, own := range g.of.own {
		errs = append(errs, write(own, "tasks", "0"))
	}
	return errors.Join(errs...)
}

// Stat reads what was counted so far.
func (g *Group) Stat() (Stat, error) {
	raw, err := os.ReadFile(filepath.Join(g.dirs[0], "cpu.stat"))
	if err != nil {
		return Stat{}, err
	}
	s, err := parseStat(string(raw), g.of.version)
	if err != nil || g.of.version == 2 {
		return s, err
	}
	raw, err = os.ReadFile(filepath.Join(g.dirs[len(g.dirs)-1], "cpuacct.usage"))
	if err != nil {
		return Stat{}, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	s.Use = time.Duration(ns)
	return s, err
}

// parseStat reads cpu.stat: names and numbers, of which version 2 has times in
// microseconds and the use among them, and version 1 nanoseconds.
func parseStat(text string, version int) (Stat, error) {
	values := map[string]int64{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return Stat{}, fmt.Errorf("cpu.stat has the line %q, expected a name and a number", line)
		}
		values[name] = n
	}
	if _, ok := values["nr_periods"]; !ok {
		return Stat{}, errors.New("cpu.stat has no nr_periods: the kernel limits nothing")
	}
	s := Stat{Periods: values["nr_periods"], Throttled: values["nr_throttled"], Lost: time.Duration(values["throttled_time"])}
	if version == 2 {
		s.Lost, s.Use = time.Duration(values["throttled_usec"])*time.Microsecond, time.Duration(values["usage_usec"])*time.Microsecond
	}
	return s, nil
}

// Remove removes the group. The process in it must have ended.
func (g *Group) Remove() error {
	var errs []error
	for _, dir := range g.dirs {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
			errs = append(errs, fmt.Errorf("removing %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// write writes a file of a group, which must be there.
func write(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
