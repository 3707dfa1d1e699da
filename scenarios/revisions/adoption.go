package revisions

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// adopted is the part of the act adopt that claims speak of.
var adopted = series.Window{From: StepForeign, To: workload.StepQuiet}

// adoption: a ReplicaSet owns the pods that its selector matches, and no others.
func (k key) adoption(out *judge.Prediction) {
	n := k.p.Replicas
	out.Chart = k.ownershipChart()
	out.Claims = append(out.Claims, k.foreign(n)...)
	out.Claims = append(out.Claims, k.stray(n)...)
	out.Claims = append(out.Claims, k.released(n)...)
	out.Claims = append(out.Claims,
		sequence("owned", "pods that the ReplicaSet controls: one too many after the adoption, one too few after the release, and as many as are wanted",
			Owned, judge.Numbers(n, n+1, n, n-1, n), adopted, k.sources(adoption, release, manage)),
		sequence("counted", "status.replicas of the ReplicaSet: what it controls when a pass begins",
			workload.Sized(workload.V1), judge.Numbers(n, n+1, n, n-1, n), adopted, k.sources(counted)),
		sequence("size", "spec.replicas of the ReplicaSet: the Deployment has no part in this",
			workload.Wanted(workload.V1), judge.Numbers(n), adopted, k.Basis(deployment.RuleNewSize)),
	)
	out.Claims = append(out.Claims, k.ended(n)...)
	out.Tables = append(out.Tables, ownershipTable(n))
}

// ended: beside the pods of the ReplicaSet there are two that nobody owns.
func (k key) ended(n int) []judge.Claim {
	pods := map[string]bool{"final-ready": true, "final-existing": true}
	out := slices.DeleteFunc(k.Ended(workload.V1, n, 1, adopted), func(c judge.Claim) bool { return pods[c.ID] })
	all, basis := series.Number(float64(n+2)), k.sources(ignore, release)
	return append(out,
		inWords(workload.In("pods"), final("final-ready", "pods that are ready at the end, foreign and released ones included", workload.Ready, all, adopted, basis)),
		inWords(workload.In("pods"), final("final-existing", "pods that exist at the end, foreign, released and terminating ones included", workload.Existing, all, adopted, basis)),
	)
}

// foreign: labels of the template alone make no difference to anybody.
func (k key) foreign(n int) []judge.Claim {
	return []judge.Claim{
		{
			ID: "foreign-free", Sentence: "a pod without the label pod-template-hash gets no owner", Basis: k.sources(ignore),
			Check: workload.Worded{Check: judge.Always{Cond: equals(OwnedOf(Foreign), 0), Window: adopted}, Words: workload.Stays("never owned", "%s owned")},
		},
		inWords(exists, sequence("foreign-stays", "and nobody deletes it", AliveOf(Foreign), judge.Numbers(0, 1), adopted, k.sources(ignore, manage))),
		{
			ID: "foreign-uncounted", Sentence: "nor is it counted, ready as it is", Basis: k.sources(ignore, counted),
			Check: workload.Worded{
				Check: judge.Always{Cond: equals(workload.Sized(workload.V1), n), Window: series.Window{From: StepForeign, To: StepForeign}},
				Words: workload.Stays(fmt.Sprintf("%d counted", n), "%s counted"),
			},
		},
		inWords(workload.In("pods"), final("foreign-ready", "by its labels alone there would be one ready pod more than are wanted", workload.Ready,
			series.Number(float64(n+1)), series.Window{From: StepForeign, To: StepForeign}, k.sources(ignore))),
	}
}

// stray: what matches is adopted, and then one pod is too many.
func (k key) stray(n int) []judge.Claim {
	window := series.Window{From: StepStray, To: StepStray}
	return []judge.Claim{
		inWords(hasOwner, sequence("stray-adopted", "a pod without an owner that the selector matches gets the ReplicaSet as its owner",
			OwnedOf(Stray), judge.Numbers(0, 1, 0), window, k.sources(adoption))),
		inWords(exists, sequence("stray-goes", "and is deleted as the one too many", AliveOf(Stray), judge.Numbers(0, 1, 0), adopted, k.sources(manage, victims))),
		{
			ID: "own-stay", Sentence: "the ReplicaSet's own pods, which are ready, stay",
			Basis: append(k.Basis(deployment.RulePodOrder), k.sources(victims)...),
			Check: workload.Worded{
				Check: judge.Always{Cond: equals(Own, n), Window: window}, Words: workload.Stays("untouched", fmt.Sprintf("%%s of %d left", n)),
			},
		},
	}
}

// released: what does not match any more is let go, not deleted, and replaced.
func (k key) released(n int) []judge.Claim {
	return []judge.Claim{
		inWords(hasOwner, sequence("released", "a pod that loses the label app loses its owner", OwnedOf(Released), judge.Numbers(0, 1, 0), adopted, k.sources(release))),
		inWords(exists, sequence("released-stays", "and lives on", AliveOf(Released), judge.Numbers(0, 1), adopted, k.sources(release, manage))),
		sequence("replaced", "another is created in its place", Own, judge.Numbers(n, n-1, n),
			series.Window{From: StepRelease, To: StepRelease}, k.sources(manage)),
	}
}

// Words for the counts of one pod. Before a pod has its role there is none.
var (
	exists   = workload.Instead("none", "there")
	hasOwner = workload.Instead("not owned", "owned")
)

func equals(of string, n int) judge.Cond {
	return judge.Cond{Series: of, Op: judge.Equal, Value: series.Number(float64(n))}
}

func (k key) ownershipChart() judge.Chart {
	return judge.Chart{Window: adopted, Panels: []judge.Panel{
		{Title: "pods", Unit: "pods", Lines: []judge.Line{
			{Series: workload.LiveOf(workload.V1), Label: "by label"}, {Series: Owned, Label: "controlled"}, {Series: workload.Sized(workload.V1), Label: "counted"},
		}},
		{Title: "pods of the script", Unit: "pods", Lines: []judge.Line{
			{Series: AliveOf(Foreign), Label: Foreign}, {Series: AliveOf(Stray), Label: Stray}, {Series: AliveOf(Released), Label: Released},
		}},
	}}
}

func ownershipTable(n int) judge.Table {
	return judge.Table{
		Title: "what becomes of a pod, by its labels and its owner",
		Head:  []string{"pod", "selector", "owner", "becomes", "controlled"},
		Rows: [][]string{
			{"foreign: the template's labels", "no match", "none", "nothing", fmt.Sprint(n)},
			{"stray: with pod-template-hash", "match", "none", "adopted, then deleted as one too many", fmt.Sprintf("%d, then %d", n+1, n)},
			{"released: the label app changed", "no match", "the ReplicaSet", "let go, then replaced", fmt.Sprintf("%d, then %d", n-1, n)},
		},
	}
}
