package istiodcost

import (
	"context"
	"errors"
	"time"

	"reckon.dev/reckon/harness/stage"
)

// Steps of the script.
const (
	StepMesh     = "write the mesh"
	StepStart    = "start istiod"
	StepIdle     = "no connections"
	StepIdleHeap = "live heap without connections"
	StepRamp     = "connect one by one"
	StepRampHeap = "live heap with the connections"
	StepPush     = "push everything to all"
	StepSecond   = "start a second istiod"
	StepBurst    = "lose the first, all connect to the second"
	StepBackHeap = "live heap after the burst"
)

// The replicas: the second takes over from the first.
const (
	first  = "istiod-0"
	second = "istiod-1"
	both   = 2
)

// Occasions on which the live heap is asked for, in the recording.
const (
	heapIdle = "idle"
	heapRamp = "after the slow ramp"
	heapBack = "after the burst"
)

const (
	// readyLimit and quietLimit are far beyond what a busy machine takes.
	readyLimit = 3 * time.Minute
	quietLimit = 5 * time.Minute
	// quiet is how long istiod sends nothing before a phase is over: a push begins 0.1 s
	// after a change, or a second when it is busy (PILOT_DEBOUNCE_AFTER).
	quiet = 3 * time.Second
	// sampled is how long it takes until what a phase cost is in the samples.
	sampled = 3 * time.Second
)

// errOthers: what is recorded of the replicas is looked for by their names.
var errOthers = errors.New("the replicas of istiod are not istiod-0 and istiod-1")

// Script has a fresh istiod for the slow ramp with the push after it, and another for the
// burst: the most memory that a process ever had says nothing of what came after.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p, cp := params.(*Params), st.ControlPlane
	limit := st.Patience(quietLimit)
	settle := func(ctx context.Context) error { return cp.AwaitQuiet(ctx, quiet, limit) }
	for _, step := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{StepMesh, func(ctx context.Context) error { return p.writeMesh(ctx, st) }},
		{StepStart, func(ctx context.Context) error { return cp.Deploy(ctx, p.istiod()) }},
		{StepIdle, settle},
		{StepIdleHeap, func(ctx context.Context) error { return collect(ctx, st, first, heapIdle) }},
		{StepRamp, then(func(ctx context.Context) error {
			return cp.Connect(ctx, stage.Fleet{Proxies: p.Connections, Together: true, Over: p.rampTime()})
		}, settle)},
		{StepRampHeap, func(ctx context.Context) error { return collect(ctx, st, first, heapRamp) }},
		{StepPush, then(func(ctx context.Context) error { return st.Client.Create(ctx, pushOfAll()) }, settle)},
		{StepSecond, then(func(ctx context.Context) error {
			if err := cp.Scale(ctx, both); err != nil {
				return err
			}
			return cp.AwaitReady(ctx, both, readyLimit)
		}, settle)},
		{StepBurst, then(func(ctx context.Context) error {
			if _, err := cp.Evict(ctx, []string{first}, stage.Eviction{By: "SIGKILL", ReplacedAfter: -1}); err != nil {
				return err
			}
			return cp.AwaitConnected(ctx, limit)
		}, settle)},
		{StepBackHeap, func(ctx context.Context) error { return collect(ctx, st, second, heapBack) }},
	} {
		if err := st.Step(ctx, step.name, step.do); err != nil {
			return err
		}
	}
	return cp.Disconnect(ctx)
}

// then does one thing after the other.
func then(do, after func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			return err
		}
		return after(ctx)
	}
}

// collect has a replica collect its garbage, and lets the CPU that this takes be sampled
// before anything else is done.
func collect(ctx context.Context, st *stage.Stage, replica, occasion string) error {
	if there := st.ControlPlane.Replicas(); len(there) != 1 || there[0] != replica {
		return errOthers
	}
	if err := st.ControlPlane.Collect(ctx, replica, occasion); err != nil {
		return err
	}
	return st.Pass(ctx, sampled)
}
