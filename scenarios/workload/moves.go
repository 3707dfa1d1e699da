package workload

import (
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/series"
)

// Moves is the claim that every change of a ReplicaSet's size is one that the
// Deployment controller makes, from a state that it can have seen.
func (k Key) Moves(window series.Window, least int) judge.Claim {
	of := []string{Replicas, Template}
	for _, v := range k.Versions {
		of = append(of, Sets(v), Wanted(v), Sized(v), AvailableOf(v), desired(v), most(v))
	}
	running := k.Deployment.Strategy == Recreate && !k.NoPods
	for _, v := range k.Versions {
		if running {
			of = append(of, unfinishedOf(v))
		}
	}
	return judge.Claim{
		ID: "moves", Sentence: "every change of a ReplicaSet's size is a write of the controller's loop, from a state that it can have seen",
		Basis: k.Basis(deployment.RuleNewSize, deployment.RuleUnhealthy, deployment.RuleOld, deployment.RuleProportional),
		Check: judge.Path{
			Of: of, Rule: "only moves of the model", Least: least, Window: window,
			Begin: func() judge.Walk {
				return (&walk{spec: k.Deployment.Spec(), versions: k.Versions, running: running}).next
			},
		},
	}
}

// walk feeds joint states to the model's checker.
type walk struct {
	spec     deployment.Spec
	versions []string
	running  bool // the states end with the running pods of each version
	checker  *deployment.Checker
	last     []series.Value
}

// Positions of one version's values in a state, after replicas and template.
const (
	atSets = iota
	atWanted
	atPods
	atAvailable
	atDesired
	atMax
	perVersion
)

func (w *walk) next(state []series.Value) error {
	w.spec.Replicas, w.spec.Template = int(state[0].Num), state[1].Text
	before := w.last
	w.last = slices.Clone(state)
	if before == nil {
		w.begin(state)
		return nil
	}
	if err := w.checker.SpecChanged(w.spec); err != nil {
		return err
	}
	for i := range w.versions {
		if w.running && w.runs(state, i) != w.runs(before, i) {
			w.checker.Running(w.versions[i], w.runs(state, i))
		}
		now := values(state, i)
		if slices.Equal(now, values(before, i)) {
			continue
		}
		event := deployment.Event{ReplicaSet: w.set(state, i), Deleted: now[atSets].Num == 0}
		if err := w.checker.Observe(event); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) begin(state []series.Value) {
	var sets []deployment.ReplicaSet
	for i := range w.versions {
		if values(state, i)[atSets].Num > 0 {
			sets = append(sets, w.set(state, i))
		}
	}
	w.checker = deployment.NewChecker(w.spec, sets...)
	for i, v := range w.versions {
		if w.running {
			w.checker.Running(v, w.runs(state, i))
		}
	}
}

func (w *walk) runs(state []series.Value, version int) int {
	return int(state[2+perVersion*len(w.versions)+version].Num)
}

func values(state []series.Value, version int) []series.Value {
	from := 2 + version*perVersion
	return state[from : from+perVersion]
}

// set is the ReplicaSet of a version. Versions are in the order of their creation.
func (w *walk) set(state []series.Value, version int) deployment.ReplicaSet {
	v := values(state, version)
	return deployment.ReplicaSet{
		Name: w.versions[version], Created: int64(version),
		Replicas: int(v[atWanted].Num), Pods: int(v[atPods].Num), Available: int(v[atAvailable].Num),
		Desired: int(v[atDesired].Num), Max: int(v[atMax].Num),
	}
}
