package istiodmasseviction

import (
	"net/http"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Series of the Eviction API's answers.
const (
	answers = "evictions"
	granted = "evictions.granted"
	refused = "evictions.refused"
)

// budget is what the chart's PodDisruptionBudget does about evictions of pods: next
// to nothing.
func (p *Params) budget(out *judge.Prediction) {
	of := func(name, doc string, holds func(code int) bool) series.Definition {
		return series.Definition{Name: name, Doc: doc, Call: &series.FromCall{Resource: "pods/eviction", Value: func(c *recording.Call) (series.Value, bool) {
			return series.Number(float64(c.Code)), holds(c.Code)
		}}}
	}
	out.Definitions = append(out.Definitions,
		of(answers, "answers of the Eviction API", func(code int) bool { return code != 0 }),
		of(granted, "evictions that were granted", func(code int) bool { return code == http.StatusCreated }),
		of(refused, "evictions that a budget refused", func(code int) bool { return code == http.StatusTooManyRequests }))
	lets := min(p.Evict, max(0, p.Replicas-1))
	if p.Replicas == 1 { // the chart has no budget for a single replica
		lets = p.Evict
	}
	count := func(id, sentence, of string, n int) judge.Claim {
		return judge.Claim{ID: id, Sentence: sentence,
			Basis: []string{"Istio's chart: minAvailable 1, for more than one replica (manifests/charts/istio-control/istio-discovery/templates/poddisruptionbudget.yaml, 1.31)"},
			Check: judge.Count{Of: of, Min: n, Max: n, Witness: answers, Window: series.Window{From: StepEvict, To: StepEvict}}}
	}
	out.Claims = append(out.Claims,
		count("granted", "the budget lets every replica go but one", granted, lets),
		count("refused", "and refuses what is beyond that", refused, p.Evict-lets))
}
