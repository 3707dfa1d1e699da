package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchies are where groups with a limit on CPU time are made.
type hierarchies struct {
	version int
	// parents are directories in which a group may be made, the best first: one list,
	// or with version 1 a second one where use is counted elsewhere.
	parents [][]string
	// own are the groups of this process, one for each list.
	own []string
}

// find reads which ones there are from the files of a process in /proc.
func find(proc string) (hierarchies, error) {
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return hierarchies{}, err
	}
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return hierarchies{}, err
	}
	return parse(string(mounts), string(groups), hasCPU)
}

// parse prefers version 1 where it has the controller: version 2 has not, then.
func parse(mountinfo, groups string, hasCPU func(dir string) bool) (hierarchies, error) {
	mounts := mountsOf(mountinfo)
	out := hierarchies{version: 1}
	for _, controller := range []string{"cpu", "cpuacct"} {
		own, ok := ownOf(mounts, groups, controller)
		if ok && !slices.Contains(out.own, own) {
			out.own, out.parents = append(out.own, own), append(out.parents, []string{own})
		}
		if !ok && len(out.own) > 0 {
			return out, errors.New("no cgroup counts CPU time (cpuacct)")
		}
	}
	if len(out.own) > 0 {
		return out, nil
	}
	own, ok := ownOf(mounts, groups, "")
	if !ok {
		return out, errors.New("no cgroups are mounted for this process")
	}
	parents := []string{}
	for dir := own; ; dir = filepath.Dir(dir) {
		if hasCPU(dir) {
			parents = append(parents, dir)
		}
		if dir == rootOf(mounts) || dir == "/" {
			break
		}
	}
	if len(parents) == 0 {
		return out, fmt.Errorf("neither %s nor a cgroup above it gives its children the controller cpu (cgroup.subtree_control)", own)
	}
	return hierarchies{version: 2, parents: [][]string{parents}, own: []string{own}}, nil
}

// hasCPU says whether the children of a group of version 2 can have limits.
func hasCPU(dir string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(raw)), "cpu")
}

// mount is one of cgroups.
type mount struct {
	root, at    string
	version     int
	controllers []string
}

// mountsOf reads /proc/PID/mountinfo (proc_pid_mountinfo(5)): fields 4 and 5 are the
// root and where it is mounted, and after a hyphen come the kind, the source and options.
func mountsOf(mountinfo string) []mount {
	var out []mount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		m := mount{root: fields[3], at: fields[4]}
		switch kind[0] {
		case "cgroup":
			m.version, m.controllers = 1, strings.Split(kind[2], ",")
		case "cgroup2":
			m.version = 2
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// rootOf is where version 2 is mounted.
func rootOf(mounts []mount) string {
	for _, m := range mounts {
		if m.version == 2 {
			return m.at
		}
	}
	return ""
}

// ownOf is the directory of the process's own group in the hierarchy of a controller,
// or with an empty one of version 2. Lines of /proc/PID/cgroup are
// number:controllers:path (cgroups(7)).
func ownOf(mounts []mount, groups, controller string) (string, bool) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		for _, m := range mounts {
			if controller == "" && m.version != 2 || controller != "" && !slices.Contains(m.controllers, controller) {
				continue
			}
			if below, ok := strings.CutPrefix(parts[2], strings.TrimSuffix(m.root, "/")); ok {
				return filepath.Join(m.at, below), true
			}
		}
	}
	return "", false
}
