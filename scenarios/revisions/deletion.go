package revisions

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Windows of the act delete: from the deletion on, and after the Deployment was
// created again.
var (
	deleted = series.Window{From: StepDelete, To: workload.StepQuiet}
	renewed = series.Window{From: workload.StepAsk, To: workload.StepAsk}
)

// deletion: in which order what the Deployment owned goes, and what remains.
func (k key) deletion(out *judge.Prediction) {
	n := k.p.Replicas
	out.Claims = append(out.Claims, k.lives()...)
	out.Claims = append(out.Claims, k.order(),
		greatest("no-new-pod", "no pod is created while the owners go", workload.Existing, n, "pods", deleted, k.sources(unmanaged, statusOnly)))
	out.Claims = append(out.Claims, k.left(n)...)
	out.Claims = append(out.Claims, k.renewal(n)...)
	out.Claims = append(out.Claims, k.Moves(series.Window{From: workload.StepUpdate, To: workload.StepQuiet}, 1))
	out.Chart.Panels = append(out.Chart.Panels, judge.Panel{Title: "objects", Lines: []judge.Line{
		{Series: Exists, Label: "Deployment"}, {Series: Kept, Label: "ReplicaSets"}, {Series: Free, Label: "without an owner"},
	}})
	out.Tables = append(out.Tables, k.lifeTable())
}

// states are those that an object goes through, by the propagation.
func (p *Params) states(object string) []string {
	switch {
	case object == Life && p.Propagation == Background:
		return []string{there, gone}
	case object == Life && p.Propagation == Foreground:
		return []string{there, withFinalizers(there, metav1.FinalizerDeleteDependents), gone}
	case object == Life:
		return []string{there, withFinalizers(there, metav1.FinalizerOrphanDependents), gone}
	case p.Propagation == Orphan:
		return []string{controlled, ownerless}
	case p.Propagation == Foreground && object == LifeOf(workload.V2): // the one with pods
		return []string{controlled, withFinalizers(controlled, metav1.FinalizerDeleteDependents), gone}
	}
	return []string{controlled, gone}
}

// lives: each object's states in order, finalizers included.
func (k key) lives() []judge.Claim {
	basis := map[string][]string{
		Background: k.sources(finalizers, dependents, collected),
		Foreground: k.sources(finalizers, waiting, collected, blocking, unfinished),
		Orphan:     k.sources(finalizers, orphaning, orphaned, unfinished, statusOnly),
	}[k.p.Propagation]
	out := []judge.Claim{sequence("deployment", "the Deployment goes through exactly these states", Life, texts(k.p.states(Life)...), deleted, basis)}
	for _, v := range k.Versions {
		out = append(out, sequence("replicaset-"+v, "the ReplicaSet of "+v+" goes through exactly these states",
			LifeOf(v), texts(k.p.states(LifeOf(v))...), deleted, basis))
	}
	return out
}

// order: who may go while whom is still there.
func (k key) order() judge.Claim {
	rules := map[string]struct {
		sentence, order string
		walk            func(*family) error
		basis           []string
	}{
		Background: {"owners go before what they own: no ReplicaSet before the Deployment, no pod before its ReplicaSet",
			"Deployment → ReplicaSets → pods", ownersFirst, k.sources(dependents, collected)},
		Foreground: {"owners go after what they own: no ReplicaSet before its last pod, the Deployment last",
			"pods → their ReplicaSet → Deployment", ownersLast, k.sources(waiting, blocking)},
		Orphan: {"no ReplicaSet and no pod goes, and the Deployment only after its ReplicaSets have no owner",
			"ReplicaSets set free → Deployment", noneGoes, k.sources(orphaning, orphaned)},
	}
	rule := rules[k.p.Propagation]
	of := []string{Exists, Kept, Free, workload.Sets(workload.V2), workload.LiveOf(workload.V2), workload.Existing}
	return judge.Claim{
		ID: "order", Sentence: rule.sentence, Basis: rule.basis,
		Check: judge.Path{
			Of: of, Rule: rule.order, Least: 1, Window: deleted, Saw: went,
			Begin: func() judge.Walk {
				var first *family
				return func(state []series.Value) error {
					now := newFamily(state)
					if first == nil {
						first = now
					}
					now.first = first
					return rule.walk(now)
				}
			},
		},
	}
}

// family is what there is of the Deployment, its ReplicaSets and their pods.
type family struct {
	deployments, sets, free int
	parents                 int // ReplicaSets of v2, which has the pods
	live, existing          int // its pods that do not terminate, and all of them
	first                   *family
}

func newFamily(state []series.Value) *family {
	n := func(i int) int { return int(state[i].Num) }
	return &family{deployments: n(0), sets: n(1), free: n(2), parents: n(3), live: n(4), existing: n(5)}
}

// went says what is gone, or was set free, one after the other.
func went(states [][]series.Value) string {
	var what []string
	var many []int
	add := func(name string, n int) {
		switch last := len(what) - 1; {
		case n <= 0:
		case last >= 0 && what[last] == name:
			many[last] += n
		default:
			what, many = append(what, name), append(many, n)
		}
	}
	was := newFamily(states[0])
	for _, s := range states[1:] {
		now := newFamily(s)
		add("pods", was.existing-now.existing)
		add("ReplicaSets", was.sets-now.sets)
		if now.sets == was.sets {
			add("ReplicaSets set free", now.free-was.free)
		}
		add("Deployments", was.deployments-now.deployments)
		was = now
	}
	for i, n := range many {
		what[i] = workload.In(what[i])(fmt.Sprint(n))
	}
	return strings.Join(what, " → ")
}

func ownersFirst(f *family) error {
	switch {
	case f.deployments > 0 && f.sets < f.first.sets:
		return errors.New("a ReplicaSet went while the Deployment was there")
	case f.parents > 0 && f.live < f.first.live:
		return errors.New("a pod went while its ReplicaSet was there")
	}
	return nil
}

func ownersLast(f *family) error {
	switch {
	case f.parents == 0 && f.existing > 0:
		return fmt.Errorf("the ReplicaSet went before %d of its pods", f.existing)
	case f.deployments == 0 && f.sets > 0:
		return fmt.Errorf("the Deployment went before %d of its ReplicaSets", f.sets)
	}
	return nil
}

func noneGoes(f *family) error {
	switch {
	case f.sets < f.first.sets:
		return errors.New("a ReplicaSet went")
	case f.live < f.first.live:
		return errors.New("a pod went")
	case f.deployments == 0 && f.free < f.sets:
		return fmt.Errorf("the Deployment went while it owned %d ReplicaSets", f.sets-f.free)
	}
	return nil
}

// left: what there is when all is quiet.
func (k key) left(n int) []judge.Claim {
	sets, basis := len(k.Versions), k.sources(orphaning)
	if k.p.Propagation != Orphan {
		sets, n, basis = 0, 0, k.sources(collected)
	}
	left := func(id, units, sentence, of string, n int, basis []string) judge.Claim {
		return inWords(workload.In(units), final(id, sentence, of, series.Number(float64(n)), deleted, basis))
	}
	return []judge.Claim{
		left("left-deployments", "Deployments", "Deployments that are left", Exists, 0, k.sources(finalizers)),
		left("left-replicasets", "ReplicaSets", "ReplicaSets that are left", Kept, sets, basis),
		left("left-pods", "pods", "pods that are left", workload.Existing, n, basis),
		left("left-owned", "pods", "pods that are left and that a ReplicaSet still controls", Owned, n, basis),
	}
}

// renewal: the same Deployment created again takes orphans back, pods, numbers
// and all, and begins with revision 1 where nothing is left.
func (k key) renewal(n int) []judge.Claim {
	if k.p.Propagation != Orphan {
		return []judge.Claim{
			final("new-revision", "created again, the Deployment begins with revision 1: its history went with its ReplicaSets",
				workload.RevisionOf(workload.V2), series.Number(1), renewed, k.Basis(deployment.RuleRevision)),
			inWords(workload.In("pods"), final("new-pods", "pods of the Deployment that was created again", Own, series.Number(float64(n)), renewed, k.sources(manage))),
		}
	}
	var out []judge.Claim
	for i, v := range k.Versions {
		out = append(out,
			final("taken-back-"+v, "created again, the Deployment takes the ReplicaSet of "+v+" back", LifeOf(v), series.Text(controlled), renewed, k.sources(adoption)),
			final("old-revision-"+v, "with the revision that it had", workload.RevisionOf(v), series.Number(float64(i+1)), renewed, k.Basis(deployment.RuleRevision)),
		)
	}
	return append(out, sequence("old-pods", "and no pod is created or deleted for that", workload.Existing, judge.Numbers(n), renewed,
		append(k.sources(manage), k.Basis(deployment.RuleTemplate)...)))
}

func (k key) lifeTable() judge.Table {
	t := judge.Table{Title: "states after the deletion, propagation " + k.p.Propagation, Head: []string{"object", "states"}}
	rows := map[string]string{Life: "Deployment"}
	for _, v := range k.Versions {
		rows[LifeOf(v)] = "ReplicaSet of " + v
	}
	for _, of := range []string{Life, LifeOf(workload.V1), LifeOf(workload.V2)} {
		text := ""
		for i, s := range k.p.states(of) {
			if i > 0 {
				text += " → "
			}
			text += s
		}
		t.Rows = append(t.Rows, []string{rows[of], text})
	}
	return t
}
