package rollingupdate_test

import (
	"slices"
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// set finds the nth fact about the ReplicaSet of a version with that size.
func set(tp *doctored.Tape, version string, size, nth int) int {
	return tp.Find(workload.ReplicaSets, nth, func(_ *recording.Object, v *series.View) bool {
		return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version && *v.Spec.Replicas == size
	})
}

// readyPod finds the nth fact that says that a pod of a version is ready.
func readyPod(tp *doctored.Tape, version string, nth int) int {
	return tp.Find(workload.Pods, nth, func(_ *recording.Object, v *series.View) bool {
		return v.Metadata.Labels[stage.VersionLabel] == version && v.Is("Ready", "True") && v.Metadata.DeletionTimestamp == ""
	})
}

func deleted(version string) func(o *recording.Object, v *series.View) bool {
	return func(o *recording.Object, v *series.View) bool {
		return o.Change == recording.Deleted && v.Metadata.Labels[stage.VersionLabel] == version
	}
}

// terminate inserts, after fact at, that the pod of fact i is being deleted.
func terminate(tp *doctored.Tape, at, i int) {
	at = tp.Insert(at, i, func(o *recording.Object) { o.Change = recording.Modified })
	tp.Set(at, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
}

// write inserts, right after fact i about a ReplicaSet, that its size is another.
func write(tp *doctored.Tape, i, size int) {
	at := tp.Insert(i, i, func(o *recording.Object) { o.Change = recording.Modified })
	tp.Set(at, size, "spec", "replicas")
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"a pod too many is wanted": {"four", func(tp *doctored.Tape) {
			write(tp, set(tp, "v2", 2, 0), 3)
		}, "ceiling"},
		"the new ReplicaSet grows before there is room": {"four", func(tp *doctored.Tape) {
			write(tp, set(tp, "v2", 2, 0), 3)
		}, "moves"},
		"the old ReplicaSet shrinks by two at once": {"four", func(tp *doctored.Tape) {
			tp.Set(set(tp, "v1", 3, 0), 2, "spec", "replicas")
		}, "moves"},
		"the old ReplicaSet grows again": {"four", func(tp *doctored.Tape) {
			write(tp, set(tp, "v1", 2, 0), 3)
		}, "moves"},
		"too few are reported available": {"four", func(tp *doctored.Tape) {
			tp.Set(set(tp, "v1", 3, 0), 2, "status", "availableReplicas")
		}, "floor"},
		"two old pods are removed early": {"four", func(tp *doctored.Tape) {
			at := tp.StepBegin(workload.StepSettle)
			// Each pod became ready once, in this order.
			terminate(tp, at, readyPod(tp, "v1", 0))
			terminate(tp, at, readyPod(tp, "v1", 1))
			terminate(tp, at, readyPod(tp, "v1", 2))
		}, "floor-pods"},
		"the only possible order is left": {"two", func(tp *doctored.Tape) {
			tp.Set(set(tp, "v2", 1, 0), 2, "spec", "replicas")
		}, "sizes-v2"},
		"a scaling divides the pods otherwise": {"scaled-up", func(tp *doctored.Tape) {
			at := tp.StepBegin("scale")
			i := tp.Find(workload.ReplicaSets, 0, func(o *recording.Object, v *series.View) bool {
				return int64(o.RV) > 0 && v.Metadata.Annotations["deployment.kubernetes.io/desired-replicas"] == "20" &&
					v.Spec.Template.Metadata.Labels[stage.VersionLabel] == "v1"
			})
			if i < at {
				t.Fatal("the scaling comes before its step")
			}
			tp.Set(i, 9, "spec", "replicas")
		}, "moves"},
		"new pods are wanted while old ones terminate": {"recreate", func(tp *doctored.Tape) {
			at := set(tp, "v1", 0, 0)
			i := tp.Insert(at, set(tp, "v2", 4, 0), func(*recording.Object) {})
			tp.Set(i, 4, "spec", "replicas")
		}, "moves"},
		"a terminating pod never goes": {"lingering", func(tp *doctored.Tape) {
			tp.Drop(tp.Find(workload.Pods, 0, func(o *recording.Object, _ *series.View) bool { return o.Change == recording.Deleted }))
		}, "done-early"},
		"an old pod never goes": {"four", func(tp *doctored.Tape) {
			tp.Drop(tp.Find(workload.Pods, 0, deleted("v1")))
			drop := tp.Find(workload.Pods, 0, func(o *recording.Object, v *series.View) bool {
				return v.Metadata.DeletionTimestamp != "" && v.Metadata.Labels[stage.VersionLabel] == "v1"
			})
			tp.Drop(drop)
		}, "final-existing"},
		"a new pod goes and is not replaced": {"four", func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(workload.StepQuiet)-1, readyPod(tp, "v2", 0), func(o *recording.Object) { o.Change = recording.Deleted })
		}, "pods-follow"},
		"a pod too many is made": {"four", func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(workload.StepQuiet)-1, readyPod(tp, "v2", 0), func(o *recording.Object) { o.Change, o.Name = recording.Added, "one-too-many" })
		}, "pods-follow"},
		"an old pod goes before its ReplicaSet wants fewer": {"rollover", func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(workload.StepUpdate), readyPod(tp, "v1", 0), func(o *recording.Object) { o.Change = recording.Deleted })
		}, "pods-follow"},
		"a new pod is never ready": {"rollover", func(tp *doctored.Tape) {
			name := tp.Facts[readyPod(tp, "v3", 0)].Object.Name
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.Pods && f.Object.Name == name {
					tp.Set(i, nil, "status", "conditions")
				}
			}
		}, "final-ready"},
		"a pod appears where none is wanted": {"none", func(tp *doctored.Tape) {
			fact := doctored.Load(t, "testdata/four").Facts
			i := slices.IndexFunc(fact, func(f recording.Fact) bool { return f.Object != nil && f.Object.Resource == workload.Pods })
			at := tp.StepBegin(workload.StepQuiet)
			pod := fact[i]
			pod.T, pod.Object.RV = tp.Facts[at].T, tp.Version(at)+1
			tp.Facts = slices.Insert(tp.Facts, at+1, pod)
		}, "no-pods"},
		"a second ReplicaSet of v1 appears": {"four", func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(workload.StepSettle), set(tp, "v1", 4, 0), func(o *recording.Object) { o.Change, o.Name = recording.Added, "twin" })
		}, "one-set-v1"},
		"the new ReplicaSet has an old number": {"four", func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.ReplicaSets && tp.Is(i, func(_ *recording.Object, v *series.View) bool {
					return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == "v2"
				}) {
					tp.Set(i, "1", "metadata", "annotations", "deployment.kubernetes.io/revision")
				}
			}
		}, "revisions-v2"},
		"the revision is an old one": {"four", func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.Deployments {
					tp.Set(i, "1", "metadata", "annotations", "deployment.kubernetes.io/revision")
				}
			}
		}, "final-revision"},
		"a size changes after the end": {"four", func(tp *doctored.Tape) {
			at := tp.StepBegin(workload.StepQuiet)
			i := tp.Insert(at, set(tp, "v1", 0, 0), func(o *recording.Object) { o.Change = recording.Modified })
			tp.Facts[i].T++ // after the begin of the step
			tp.Set(i, 1, "spec", "replicas")
		}, "quiet"},
	} {
		doctored.AlterBreaks(t, name, "testdata/"+c.recording, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/none", "testdata/two", "testdata/four", "testdata/scaled-up", "testdata/rollover", "testdata/recreate", "testdata/lingering")
}

// A controller that does not answer after the quiet period may have been dead
// all the time: its silence proves nothing.
func TestSilenceWithoutASignOfLifeProvesNothing(t *testing.T) {
	t.Parallel()
	tp := doctored.Load(t, "testdata/four")
	asked := tp.StepBegin(workload.StepAsk)
	for i := len(tp.Facts) - 1; i > asked; i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.Deployments {
			tp.Drop(i)
		}
	}
	for _, c := range tp.Verdict().Claims {
		if c.ID == "quiet" && c.Status != judge.Inconclusive {
			t.Errorf("quiet is %s: %s", c.Status, c.Why)
		}
	}
}
