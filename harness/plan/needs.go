package plan

import (
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
)

// checkNeeds refuses a scenario on a provider that lacks what it needs with
// these parameters, before anything starts.
func checkNeeds(provider string, s scenario.Scenario, params any) error {
	missing := cluster.Offered(provider).Missing(s.Needs(params))
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("scenario %s needs %s, which provider %s does not offer", s.Name(), missing, provider)
}

// checkSkewable refuses a controller manager of its own version where the
// control plane comes as one image.
func checkSkewable(cell *Cell) error {
	if _, own := cell.Versions[scenario.ControllerManager]; own && cell.Provider == cluster.Kind {
		return fmt.Errorf("provider %s runs the %s of its node image: a version of its own is for provider %s",
			cell.Provider, scenario.ControllerManager, cluster.Embedded)
	}
	return nil
}
