package istiodmasseviction

import (
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
)

// incident is what was read in the production incident that the drill istiod-incident
// plays, beside the model; nothing of other fleets.
func (p *Params) incident() []judge.Table {
	seen := mesh.SeenIncident()
	if p.Replicas != seen.Loss.Replicas || p.Connections != seen.Loss.Connections {
		return nil
	}
	t := judge.Table{
		Title: "what was read in the incident, with connections of 15 minutes, and what the model says for the same",
		Head:  []string{"read", "seen", "model", "so it is", "because"},
	}
	for _, r := range seen.Remarks() {
		t.Rows = append(t.Rows, []string{r.What, r.Seen, r.Model, string(r.Opinion), r.Why})
	}
	return []judge.Table{t}
}
