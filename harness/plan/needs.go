package plan

import (
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/scenario"
)

// checkNeeds refuses a scenario on a provider that lacks what it needs, before
// anything starts.
func checkNeeds(provider string, s scenario.Scenario) error {
	providers := map[string]cluster.Provider{"embedded": &embedded.Provider{}}
	p, ok := providers[provider]
	if !ok {
		return fmt.Errorf("unknown provider %q", provider)
	}
	if missing := cluster.Offers(p, s.Needs()); len(missing) > 0 {
		return fmt.Errorf("scenario %s needs %v, which provider %s does not offer", s.Name(), missing, provider)
	}
	return nil
}
