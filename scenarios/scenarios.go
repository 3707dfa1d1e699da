// Package scenarios lists what Reckon can drill. Each scenario is a package of
// its own, with its script, its prediction and a page that explains it.
package scenarios

import (
	"fmt"

	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/autoscaledupdate"
	"reckon.dev/reckon/scenarios/bluegreen"
	"reckon.dev/reckon/scenarios/canaryabort"
	"reckon.dev/reckon/scenarios/canaryautoscaled"
	"reckon.dev/reckon/scenarios/canaryedited"
	"reckon.dev/reckon/scenarios/canaryprogress"
	"reckon.dev/reckon/scenarios/canarypromote"
	"reckon.dev/reckon/scenarios/canaryrouting"
	"reckon.dev/reckon/scenarios/canarysizes"
	"reckon.dev/reckon/scenarios/canarysuperseded"
	"reckon.dev/reckon/scenarios/eviction"
	"reckon.dev/reckon/scenarios/istiodcost"
	"reckon.dev/reckon/scenarios/istiodmasseviction"
	"reckon.dev/reckon/scenarios/istiodrestart"
	"reckon.dev/reckon/scenarios/istiodscaleout"
	"reckon.dev/reckon/scenarios/istiodthrottle"
	"reckon.dev/reckon/scenarios/revisions"
	"reckon.dev/reckon/scenarios/rollbackabort"
	"reckon.dev/reckon/scenarios/rollbackwindow"
	"reckon.dev/reckon/scenarios/rollingupdate"
	"reckon.dev/reckon/scenarios/scaling"
	"reckon.dev/reckon/scenarios/singlereplica"
	"reckon.dev/reckon/scenarios/stalledupdate"
	"reckon.dev/reckon/scenarios/statefulsetpartition"
	"reckon.dev/reckon/scenarios/upgrademidflight"
	"reckon.dev/reckon/scenarios/upgradenoop"
)

// All returns every scenario, in the order in which they are listed.
func All() []scenario.Scenario {
	return []scenario.Scenario{
		rollbackwindow.Scenario{},
		rollbackabort.Scenario{},
		canaryabort.Scenario{},
		canarysizes.Scenario{},
		canarypromote.Scenario{},
		canaryprogress.Scenario{},
		canaryautoscaled.Scenario{},
		bluegreen.Scenario{},
		canarysuperseded.Scenario{},
		canaryedited.Scenario{},
		canaryrouting.Scenario{},
		upgradenoop.Scenario{},
		upgrademidflight.Scenario{},
		rollingupdate.Scenario{},
		scaling.Scenario{},
		singlereplica.Scenario{},
		stalledupdate.Scenario{},
		revisions.Scenario{},
		statefulsetpartition.Scenario{},
		eviction.Scenario{},
		autoscaledupdate.Scenario{},
		istiodmasseviction.Scenario{},
		istiodscaleout.Scenario{},
		istiodrestart.Scenario{},
		istiodthrottle.Scenario{},
		istiodcost.Scenario{},
	}
}

// Names lists their names.
func Names() []string {
	var out []string
	for _, s := range All() {
		out = append(out, s.Name())
	}
	return out
}

// Get finds a scenario by name; the error names the nearest.
func Get(name string) (scenario.Scenario, error) {
	for _, s := range All() {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown scenario %q%s", name, nearest.Hint(name, Names()))
}
