// Package rollbacktest is for tests: it writes recordings such as a controller would leave
// of the Rollout under drill, so that an answer key can be held against them without a
// cluster.
package rollbacktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Obj is an object, or a part of one.
type Obj = map[string]any

// Tape is a recording in the making.
type Tape struct {
	// At is the time of the last fact. Each is 10 ms after the one before.
	At time.Duration

	t    testing.TB
	file *bytes.Buffer
	w    *recording.Writer
	rv   uint64
}

// New begins a recording.
func New(t testing.TB) *Tape {
	t.Helper()
	file := &bytes.Buffer{}
	w, err := recording.NewWriter(file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	return &Tape{t: t, file: file, w: w}
}

// Read ends the recording and reads it into series.
func (tp *Tape) Read(defs []series.Definition) *series.Set {
	tp.t.Helper()
	if err := tp.w.Close(int64(tp.At)); err != nil {
		tp.t.Fatal(err)
	}
	r, err := recording.NewReader(tp.file)
	if err != nil {
		tp.t.Fatal(err)
	}
	defer r.Close()
	set, err := series.Read(r, defs)
	if err != nil {
		tp.t.Fatal(err)
	}
	return set
}

// Fact adds a fact.
func (tp *Tape) Fact(f recording.Fact) {
	tp.At += 10 * time.Millisecond
	f.T = int64(tp.At)
	if err := tp.w.Append(f); err != nil {
		tp.t.Fatal(err)
	}
}

// Object adds an object, or a change of one, with these labels.
func (tp *Tape) Object(resource, name string, labels map[string]string, body Obj) {
	tp.rv++
	body["metadata"] = Obj{"name": name, "labels": labels, "resourceVersion": fmt.Sprint(tp.rv)}
	raw, err := json.Marshal(body)
	if err != nil {
		tp.t.Fatal(err)
	}
	tp.Fact(recording.Fact{Object: &recording.Object{Change: recording.Modified, Resource: resource, Namespace: rollback.Name, Name: name, RV: tp.rv, Body: raw}})
}

// Step adds the begin or the end of a step.
func (tp *Tape) Step(name, phase string) {
	tp.Fact(recording.Fact{Step: &recording.Step{Name: name, Phase: phase}})
}

// Log adds a line of the controller's log.
func (tp *Tape) Log(line string) {
	tp.Fact(recording.Fact{Log: &recording.Log{Component: argorollouts.Name, Line: line}})
}

// Sample adds a sample.
func (tp *Tape) Sample(name string, labels map[string]string, value float64) {
	tp.Fact(recording.Fact{Sample: &recording.Sample{Series: name, Labels: labels, Value: value}})
}

// Alive is what a controller that works shows of itself.
func (tp *Tape) Alive() { tp.Sample("process_cpu_seconds_total", nil, tp.At.Seconds()) }

// Weight is the canary weight of the VirtualService.
func (tp *Tape) Weight(routing rollouts.Routing, w int) {
	canary, stable := Obj{"host": rollback.CanaryService}, Obj{"host": rollback.StableService}
	if routing == rollouts.RoutingSubsets {
		canary, stable = Obj{"host": rollback.Name, "subset": rollback.CanarySubset}, Obj{"host": rollback.Name, "subset": rollback.StableSubset}
	}
	tp.Object(rollback.VirtualServices, rollback.Name, nil, Obj{"spec": Obj{"http": []Obj{{"name": rollback.Route, "route": []Obj{
		{"destination": stable, "weight": 100 - w}, {"destination": canary, "weight": w},
	}}}}})
}
