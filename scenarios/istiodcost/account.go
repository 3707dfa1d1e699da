package istiodcost

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/series"
)

// phase is what one part of a run took of the replica that it is about.
type phase struct {
	name, replica string
	window        series.Window
	// heap is the occasion on which its live heap was asked for, "" if it was not.
	heap string
	// known is false where the recording does not have all of it.
	known bool
	// clusters are the answers with clusters that the replica has sent by the end.
	clusters float64
	// sent is configuration in bytes, cpu time in seconds, of the phase.
	sent, cpu float64
	// resident is what was resident at the end, peak the most that ever was, and live
	// the live heap after it, in bytes.
	resident, peak, live float64
	end                  time.Duration
}

// phases are those that something is known of, in order.
func phases() []phase {
	in := func(step string) series.Window { return series.Window{From: step, To: step} }
	return []phase{
		{name: "no connections", replica: first, window: in(StepIdle), heap: heapIdle},
		{name: "slow ramp", replica: first, window: in(StepRamp), heap: heapRamp},
		{name: "full push", replica: first, window: in(StepPush)},
		{name: "burst", replica: second, window: in(StepBurst), heap: heapBack},
	}
}

// Places of the phases.
const (
	idle = iota
	ramp
	push
	burst
)

// measure reads the phases off a recording.
func measure(set *series.Set) []phase {
	out := phases()
	for i := range out {
		out[i].read(set)
	}
	return out
}

func (p *phase) read(set *series.Set) {
	in, ok := set.Resolve(p.window)
	if !ok {
		return
	}
	p.known, p.end = true, in.To
	need := func(name string, t time.Duration) float64 {
		v, ok := at(set, name, t)
		p.known = p.known && ok
		return v
	}
	// since is what a counter has grown by; one that is not there has counted nothing.
	since := func(name string) float64 {
		before, _ := at(set, name, in.From)
		after, _ := at(set, name, in.To)
		return after - before
	}
	p.resident, p.peak = mega*need(residentName(p.replica), in.To), mega*need(peakName(p.replica), in.To)
	need(cpuName(p.replica), in.To)
	p.cpu = since(cpuName(p.replica))
	for _, typ := range sentOrder {
		p.sent += since(sentName(p.replica, typ))
	}
	if p.name != phases()[idle].name { // counters appear when they first count
		p.clusters = need(clustersName(p.replica), in.To)
	}
	if p.heap != "" {
		p.live = mega * need(liveName(p.heap), set.End)
	}
}

func at(set *series.Set, name string, t time.Duration) (float64, bool) {
	s, err := set.Get(name)
	if err != nil {
		return 0, false
	}
	point, ok := s.At(t)
	return point.Value.Num, ok
}

// Measure is what a recording says of istiod's memory under a load; ok is false where it
// does not have all of it. The set must have been read with the scenario's definitions.
func Measure(run string, load footprint.Load, set *series.Set) (_ footprint.Measurement, ok bool) {
	all := measure(set)
	for _, p := range all {
		if !p.known {
			return footprint.Measurement{}, false
		}
	}
	return footprint.Measurement{
		Run: run, Load: load, Idle: all[idle].peak, LiveIdle: all[idle].live, LiveRamp: all[ramp].live, LiveBurst: all[burst].live,
		Ramp: all[ramp].peak, Push: all[push].peak, Burst: all[burst].peak,
		CPURamp: all[ramp].cpu, CPUPush: all[push].cpu, CPUBurst: all[burst].cpu, Sent: all[burst].sent / float64(load.Connections),
	}, true
}

// answers: each proxy was sent its clusters when it connected, once more by the push, and
// when it connected to the second istiod. Beside that it tells what each phase took.
type answers struct{ proxies int }

// want is how many answers with clusters a replica has sent at the end of each phase.
func (a answers) want() [4]float64 {
	n := float64(a.proxies)
	return [4]float64{ramp: n, push: 2 * n, burst: n}
}

func (a answers) Predicted() string {
	w := a.want()
	return fmt.Sprintf("%.0f, then %.0f; %.0f of the second", w[ramp], w[push], w[burst])
}

func (a answers) Series() []string { return []string{clustersName(first), clustersName(second)} }

func (a answers) Eval(set *series.Set) (judge.Finding, error) {
	for _, name := range a.Series() {
		if _, err := set.Get(name); err != nil {
			return judge.Finding{}, err
		}
	}
	all := measure(set)
	f := judge.Finding{Status: judge.Held, Detail: a.table(all)}
	for _, p := range all {
		if !p.known {
			return judge.Finding{Status: judge.Inconclusive, Observed: "-", Detail: f.Detail, Why: fmt.Sprintf("the recording does not have all of the phase %q", p.name)}, nil
		}
	}
	f.Observed = fmt.Sprintf("%.0f, then %.0f; %.0f of the second", all[ramp].clusters, all[push].clusters, all[burst].clusters)
	f.Samples, f.At = len(all), &all[burst].end
	for i, want := range a.want() {
		if all[i].clusters != want && f.Status == judge.Held {
			f.Status = judge.Broken
			f.Why = fmt.Sprintf("%s has sent %.0f answers with clusters by the end of the phase %q, and %.0f are one for each time that a proxy is due one", all[i].replica, all[i].clusters, all[i].name, want)
		}
	}
	return f, nil
}

// table is what the phases took.
func (a answers) table(all []phase) *judge.Table {
	t := &judge.Table{
		Title: "what each phase took",
		Head:  []string{"phase", "istiod", "answers with clusters", "sent per proxy", "CPU", "CPU per proxy", "resident", "peak so far", "live heap"},
	}
	for i, p := range all {
		row := []string{p.name, p.replica, "-", "-", "-", "-", "-", "-", "-"}
		if p.known {
			row = []string{p.name, p.replica, fmt.Sprintf("%.0f", p.clusters), footprint.Bytes(p.sent / float64(a.proxies)), fmt.Sprintf("%.2f s", p.cpu),
				fmt.Sprintf("%.1f ms", 1000*p.cpu/float64(a.proxies)), footprint.Bytes(p.resident), footprint.Bytes(p.peak), "-"}
			if i == idle {
				row[2], row[3], row[5] = "-", "-", "-"
			}
			if p.heap != "" {
				row[8] = footprint.Bytes(p.live)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
