package moves

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// A state is what the objects of the drill say, as far as a stop of the model does too.
type state struct {
	rollout   series.View
	sets      map[string]series.View // by version
	versions  map[string]string      // by hash
	weights   map[string]int         // by VirtualService
	header    bool
	selectors map[string]string // hash by Service
}

// now is the state as it was recorded last.
func (s *script) now() state {
	out := state{weights: map[string]int{}, sets: map[string]series.View{}, versions: map[string]string{}, selectors: map[string]string{}}
	s.each(rollback.Rollouts, func(v series.View) { out.rollout = v })
	s.each(rollback.ReplicaSets, func(v series.View) {
		version := v.Spec.Template.Metadata.Labels[stage.VersionLabel]
		out.sets[version] = v
		out.versions[v.Metadata.Labels[hashLabel]] = version
	})
	s.each(rollback.Services, func(v series.View) { out.selectors[v.Metadata.Name] = selected(&v) })
	s.each(rollback.VirtualServices, func(v series.View) {
		if weight, ok := rollback.WeightIn(v.Metadata.Name, s.Spec.Routing)(&v); ok {
			out.weights[v.Metadata.Name] = int(weight.Num)
		}
		out.header = out.header || hasHeader(&v)
	})
	return out
}

// each gives every object of a resource in the run's namespace.
func (s *script) each(resource string, yield func(series.View)) {
	for _, o := range s.stage.Recorder.Objects(resource, s.stage.Namespace) {
		var v series.View
		if o.Change != recording.Deleted && json.Unmarshal(o.Body, &v) == nil {
			yield(v)
		}
	}
}

// differs says in what the state is not yet that of the stop, in a few words; empty if it
// is.
func (st state) differs(p Plan, want rollouts.Row) string {
	var out []string
	note := func(what string, got, want any) {
		if got != want {
			out = append(out, fmt.Sprintf("%s is %v, not %v", what, got, want))
		}
	}
	note("generation", observed(st.rollout), st.rollout.Metadata.Generation)
	note("current", st.versions[st.rollout.Status.CurrentPodHash], want.Current)
	note("stable", st.versions[st.rollout.Status.StableRS], want.Stable)
	note("paused", len(st.rollout.Status.PauseConditions) > 0, want.Paused)
	note("abort", st.rollout.Status.Abort, want.Abort)
	for _, version := range slices.Sorted(maps.Keys(want.Size)) {
		rs, size := st.sets[version], 0
		if rs.Spec.Replicas != nil {
			size = *rs.Spec.Replicas
		}
		note("size of "+version, size, want.Size[version])
		note("pods of "+version, rs.Status.Replicas, want.Size[version])
		note("available of "+version, rs.Status.AvailableReplicas, want.Available[version])
	}
	if p.blueGreen() {
		note("active", st.versions[st.selectors[activeService]], want.Active)
		note("preview", st.versions[st.selectors[previewService]], want.Preview)
		return strings.Join(out, ", ")
	}
	note("weight", st.weights[rollback.Name], want.Weight)
	note("second weight", st.weights[secondName], want.Second)
	note("header", st.header, want.Header)
	if i := st.rollout.Status.CurrentStepIndex; i != nil {
		note("step", *i, want.Index)
	}
	return strings.Join(out, ", ")
}

// observed is status.observedGeneration, a text in a Rollout; -1 if there is none.
func observed(v series.View) int {
	var text string
	if json.Unmarshal(v.Status.ObservedGeneration, &text) != nil {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
