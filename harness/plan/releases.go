package plan

import (
	"maps"
	"slices"
	"strings"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/scenario"
)

// settleReleases puts the versions that the parameters choose into the cell.
func settleReleases(cell *Cell, s scenario.Scenario, params any) error {
	u, ok := s.(scenario.Upgrader)
	if !ok {
		return nil
	}
	for component, releases := range u.Releases(params) {
		if releases[0] == "" {
			releases = slices.Concat([]string{cell.Versions[component]}, releases[1:])
		}
		for _, version := range releases {
			if err := drills.CheckVersion(version); err != nil {
				return err
			}
		}
		cell.Versions[component] = releases[0]
		if later := slices.DeleteFunc(releases[1:], func(v string) bool { return v == releases[0] }); len(later) > 0 {
			if cell.Later == nil {
				cell.Later = map[string][]string{}
			}
			cell.Later[component] = later
		}
	}
	return nil
}

// Components are the cell's components with their versions, by name; one that is
// replaced with every version in order: "argo-rollouts v1.8.3 → v1.9.2".
func (c Cell) Components() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Versions)) {
		out = append(out, name+" "+c.course(name))
	}
	return out
}

// course is the version of a component, and those that come after it.
func (c Cell) course(component string) string {
	return strings.Join(append([]string{c.Versions[component]}, c.Later[component]...), " → ")
}
