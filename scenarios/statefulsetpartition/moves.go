package statefulsetpartition

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// ofSet are the series of the set in a joint state; those of the pods follow.
var ofSet = []string{
	workload.Replicas, workload.Partition, workload.Template,
	workload.SpecObserved, workload.CurrentName, workload.UpdateName,
}

// Their positions.
const (
	atReplicas = iota
	atPartition
	atTemplate
	atObserved
	atCurrent
	atUpdate
	perSet
)

// walk turns joint states into the history that the model's checker reads.
type walk struct {
	checker *statefulset.Checker
	spec    statefulset.Spec
	set     *statefulset.Set
	pods    []podState
	// names are the versions of the revisions by their names. The controller tells
	// one with each status that speaks of the spec as it is.
	names map[string]string
}

func newWalk(rules statefulset.Rules, spec statefulset.Spec, ordinals int) *walk {
	return &walk{
		checker: statefulset.NewChecker(rules), spec: spec,
		pods: make([]podState, ordinals), names: map[string]string{},
	}
}

func (w *walk) next(values []series.Value) error {
	begin := w.set == nil
	if err := w.see(values[:perSet]); err != nil {
		return err
	}
	for i, v := range values[perSet:] {
		now := parse(v.Text)
		for _, e := range w.pods[i].events(now, i) {
			if begin {
				e.By = "set-up" // the pods of the beginning are nobody's move
			}
			if err := w.checker.See(e); err != nil {
				return err
			}
		}
		w.pods[i] = now
	}
	return nil
}

// see takes the set as it is.
func (w *walk) see(v []series.Value) error {
	template, update := v[atTemplate].Text, v[atUpdate].Text
	if v[atObserved].Num == 1 {
		if was, ok := w.names[update]; ok && was != template {
			return fmt.Errorf("status.updateRevision %s is that of %s, and the template is %s", update, was, template)
		}
		w.names[update] = template
	}
	current, ok := w.names[v[atCurrent].Text]
	if !ok {
		return fmt.Errorf("status.currentRevision %s is of no template that there was", v[atCurrent].Text)
	}
	set := statefulset.Set{Spec: w.spec, Template: template, Current: current}
	set.Spec.Replicas, set.Spec.Partition = int(v[atReplicas].Num), int(v[atPartition].Num)
	if w.set != nil && *w.set == set {
		return nil
	}
	w.set = &set
	return w.checker.See(statefulset.Event{Kind: statefulset.SetChanged, Set: &set})
}

// podState is a state of workload.PodAt, taken apart; no version is no pod.
type podState struct {
	version                            string
	ready, terminating, failed, byHand bool
}

func parse(text string) podState {
	if text == workload.NoPod {
		return podState{}
	}
	var s podState
	s.version, s.byHand = strings.CutSuffix(text, workload.ByHand)
	s.version, s.terminating = strings.CutSuffix(s.version, workload.MarkTerminating)
	s.version, s.failed = strings.CutSuffix(s.version, workload.MarkFailed)
	unready := false
	s.version, unready = strings.CutSuffix(s.version, workload.MarkUnready)
	s.ready = !unready && !s.terminating && !s.failed
	return s
}

// events lead from one state of a pod to the next.
func (s podState) events(next podState, ordinal int) []statefulset.Event {
	var out []statefulset.Event
	add := func(kind statefulset.Kind, e statefulset.Event) {
		e.Kind, e.Ordinal = kind, ordinal
		out = append(out, e)
	}
	by := statefulset.Event{}
	if s.byHand || s.version == next.version && next.byHand {
		by.By = "hand"
	}
	if s.version != next.version {
		if s.version != "" {
			add(statefulset.Gone, by)
		}
		if next.version != "" {
			add(statefulset.Added, statefulset.Event{Revision: next.version})
		}
		s = podState{version: next.version}
	}
	if next.failed && !s.failed {
		add(statefulset.Failed, statefulset.Event{})
	}
	if next.terminating && !s.terminating {
		add(statefulset.Terminating, by)
		return out
	}
	if next.ready != s.ready && !next.terminating && !next.failed {
		kind := statefulset.Unready
		if next.ready {
			kind = statefulset.Ready
		}
		add(kind, statefulset.Event{})
	}
	return out
}

// moved says what the moves of a path were.
func moved(states [][]series.Value) string {
	made, deleted := 0, 0
	for n, state := range states[1:] {
		for i, v := range state[perSet:] {
			was := parse(states[n][perSet+i].Text)
			for _, e := range was.events(parse(v.Text), i) {
				switch {
				case e.Kind == statefulset.Added:
					made++
				case e.Kind == statefulset.Terminating, e.Kind == statefulset.Gone && !was.terminating:
					deleted++
				}
			}
		}
	}
	return fmt.Sprintf("%d pods deleted, %d made", deleted, made)
}

// left are the ordinals at which a pod does not live any more, in order.
func left(states [][]series.Value) []int {
	var out []int
	for n, live := range states[1:] {
		for i, v := range live {
			if states[n][i].Num > 0 && v.Num == 0 {
				out = append(out, i)
			}
		}
	}
	return out
}

// leaving walks along which pods live, and wants those that leave in one order.
type leaving struct {
	want []int
	gone int
	last []series.Value
}

func (l *leaving) next(live []series.Value) error {
	before := l.last
	l.last = slices.Clone(live)
	for i := range before {
		if before[i].Num == 0 || live[i].Num > 0 {
			continue
		}
		if l.gone == len(l.want) {
			return fmt.Errorf("ordinal %d was deleted, where nothing more was predicted", i)
		}
		if want := l.want[l.gone]; i != want {
			return fmt.Errorf("deletion %d was ordinal %d, where %d was predicted", l.gone+1, i, want)
		}
		l.gone++
	}
	return nil
}
