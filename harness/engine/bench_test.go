package engine_test

import (
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/measure"
)

// BenchmarkJudge judges the recording of an ordinary run, of some 2 MB.
func BenchmarkJudge(b *testing.B) {
	const rounds = 50
	const dir = "../../results/baselines/rollback-versions-rollback-window-argo-rollouts-v1.8.2-routing-services-1"
	var took, heap measure.Numbers
	for b.Loop() {
		for range rounds {
			grown := measure.Heap()
			took.Time(func() {
				run, err := engine.Judge(dir, engine.Prediction)
				if err != nil {
					b.Fatal(err)
				}
				if run.Verdict.Outcome != judge.Pass {
					b.Fatalf("the verdict is %s", run.Verdict.Outcome)
				}
			})
			heap = append(heap, grown())
		}
	}
	measure.HideTime(b)
	took.Times(1000).Report(b, "judge_ms")
	heap.Report(b, "heap_MB")
}
