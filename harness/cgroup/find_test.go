package cgroup

import (
	"reflect"
	"strings"
	"testing"
)

const (
	split = `31 25 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 25 0:28 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
`
	joint = `24 30 0:21 / /proc rw - proc proc rw
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct
`
	inContainer = `31 25 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,relatime - cgroup cgroup rw,cpu,cpuacct
`
	unified = `35 25 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
`
)

func TestWhereGroupsAreMade(t *testing.T) {
	t.Parallel()
	delegated := func(dirs ...string) func(string) bool {
		return func(dir string) bool { return strings.Contains(strings.Join(dirs, " ")+" ", dir+" ") }
	}
	for name, c := range map[string]struct {
		mounts, groups string
		hasCPU         func(string) bool
		want           hierarchies
	}{
		"version 1, two hierarchies beside version 2": {split, "2:cpuacct:/\n1:cpu:/low\n0::/\n", nil, hierarchies{1, [][]string{{"/sys/fs/cgroup/cpu/low"}, {"/sys/fs/cgroup/cpuacct"}}, []string{"/sys/fs/cgroup/cpu/low", "/sys/fs/cgroup/cpuacct"}}},
		"version 1, both in one":                      {joint, "4:cpu,cpuacct:/user.slice\n", nil, hierarchies{1, [][]string{{"/sys/fs/cgroup/cpu,cpuacct/user.slice"}}, []string{"/sys/fs/cgroup/cpu,cpuacct/user.slice"}}},
		"version 1, mounted from below":               {inContainer, "4:cpu,cpuacct:/docker/abc/x\n", nil, hierarchies{1, [][]string{{"/sys/fs/cgroup/cpu,cpuacct/x"}}, []string{"/sys/fs/cgroup/cpu,cpuacct/x"}}},
		"version 2, in the nearest group above that gives its children the controller": {
			unified, "0::/user.slice/user-1.slice/run.scope\n", delegated("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice"),
			hierarchies{2, [][]string{{"/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}}, []string{"/sys/fs/cgroup/user.slice/user-1.slice/run.scope"}}},
		"version 2, this process in the root": {unified, "0::/\n", delegated("/sys/fs/cgroup"), hierarchies{2, [][]string{{"/sys/fs/cgroup"}}, []string{"/sys/fs/cgroup"}}},
	} {
		got, err := parse(c.mounts, c.groups, c.hasCPU)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
	}
}

func TestWhereNoneCanBeMade(t *testing.T) {
	t.Parallel()
	none := func(string) bool { return false }
	for name, c := range map[string]struct{ mounts, groups, want string }{
		"nothing is mounted":                 {"24 30 0:21 / /proc rw - proc proc rw\n", "0::/\n", "no cgroups are mounted"},
		"version 1 without the counts":       {split[:strings.Index(split, "\n")+1], "1:cpu:/\n", "cpuacct"},
		"version 2 without the controller":   {unified, "0::/a/b\n", "neither /sys/fs/cgroup/a/b nor a cgroup above it"},
		"a group outside of what is mounted": {inContainer, "4:cpu,cpuacct:/elsewhere\n", "no cgroups are mounted"},
	} {
		if got, err := parse(c.mounts, c.groups, none); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
