package statefulsetpartition

import (
	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// played is one run of the model: what all runs have in common, since the order
// of deletions does not depend on which pod becomes ready when.
type played struct {
	trace statefulset.Trace
	// staged is the set where the update reached the partition, or was stuck;
	// held is it where the rollback comes to rest; final the end.
	staged, held, final state
	// byHand says that the stuck pod is still at v2 after the rollback.
	byHand bool
}

// state is a set at rest.
type state struct {
	set  statefulset.Set
	pods map[int]statefulset.Pod
}

func at(w *statefulset.World) state { return state{w.Set(), w.Pods()} }

// updated counts the pods at the template's revision.
func (s state) updated() int { return s.count(s.set.Template) }

func (s state) count(revision string) int {
	n := 0
	for _, pod := range s.pods {
		if pod.Revision == revision {
			n++
		}
	}
	return n
}

func (s state) completed() bool { return s.set.Current == s.set.Template }

// settle brings a world to its next rest.
type settle func(w *statefulset.World, stuck func(ordinal int, revision string) bool)

// inOrder lets pods become ready in the order in which they are made.
func inOrder(w *statefulset.World, stuck func(int, string) bool) { w.Settle(stuck) }

// play does what the script does.
func (p *Params) play(rules statefulset.Rules, spec statefulset.Spec, settle settle) played {
	w := statefulset.NewWorld(rules, spec, workload.V1)
	stuck := func(ordinal int, revision string) bool { return revision == workload.V2 && ordinal == p.Stuck }
	settle(w, stuck)
	w.ResetTrace()
	w.Deploy(workload.V2)
	settle(w, stuck)
	out := played{staged: at(w)}
	switch {
	case p.Stuck != None:
		w.Deploy(workload.V1)
		settle(w, stuck)
		out.held = at(w)
		out.byHand = out.held.pods[p.Stuck].Revision == workload.V2
		if out.byHand {
			_ = w.Tell(statefulset.Terminating, p.Stuck) // it exists: it has a revision
			settle(w, stuck)
		}
	case p.ThenPartition != None:
		w.Change(func(s *statefulset.Spec) { s.Partition = p.ThenPartition })
		settle(w, stuck)
	}
	out.final, out.trace = at(w), w.Trace()
	return out
}

// going are the pods that leave, in order, those deleted by hand included.
func (p played) going() []int {
	var out []int
	for _, row := range p.trace.Rows {
		if row.Event.Kind == statefulset.Terminating {
			out = append(out, row.Event.Ordinal)
		}
	}
	return out
}

// model takes the rules of the controller manager, and the spec as the API server
// of the run's Kubernetes version stores it.
func (p *Params) model(versions map[string]string) (rules statefulset.Rules, spec statefulset.Spec, known bool) {
	rules, known = statefulset.RulesFor(scenario.ControllerManagerVersion(versions))
	spec = p.Spec()
	if !stores(versions) {
		spec.MaxUnavailable = share.Share{}
	}
	return rules, spec, known
}

// stores says whether the API server keeps maxUnavailable: its gate is its own.
func stores(versions map[string]string) bool {
	server, _ := statefulset.RulesFor(versions[scenario.Kubernetes])
	return server.MaxUnavailable
}
