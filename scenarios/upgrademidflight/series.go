package upgrademidflight

import (
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Series beside those of every update.
const (
	seriesRevision = "revision"    // the Rollout's revision
	seriesHash     = "hash.wanted" // status.currentPodHash
	seriesSets     = "replicasets" // how many ReplicaSets there are
	seriesAnalyses = "analyses"    // how many analyses there are
)

func definitions() []series.Definition {
	number := func(name, resource string) series.Definition {
		return series.Definition{Name: name, Doc: "how many " + resource, Sum: &series.SumOfObjects{
			Resource: resource, Value: func(*series.View) (float64, bool) { return 1, true },
		}}
	}
	return []series.Definition{
		number(seriesSets, rollback.ReplicaSets), number(seriesAnalyses, "analysisruns.argoproj.io"),
		rollback.OfRollout(seriesRevision, "the Rollout's revision", func(v *series.View) (series.Value, bool) {
			return series.Text(v.Metadata.Annotations[rollback.RevisionAnnotation]), true
		}),
		rollback.OfRollout(seriesHash, "status.currentPodHash", func(v *series.View) (series.Value, bool) {
			return series.Text(v.Status.CurrentPodHash), v.Status.CurrentPodHash != ""
		}),
	}
}
