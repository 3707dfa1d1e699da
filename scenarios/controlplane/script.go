package controlplane

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/stage"
)

// Limits of a script's waiting.
const (
	// readyLimit is what all replicas may take together until they are Ready: twenty at
	// once took 10 s on two cores.
	readyLimit = 3 * time.Minute
	// margin is what is watched after the model's fleet is even again: the five seconds
	// that it takes to say so, and as much as replicas may be Ready later than nominal.
	margin = 15 * time.Second
)

// Stimulus is what a scenario does to the fleet, in a step of its own.
type Stimulus struct {
	Step string
	// Do begins it. It need not wait for replicas: that is what follows.
	Do func(ctx context.Context, st *stage.Stage) error
	// Replicas is how many there are when it is over.
	Replicas int
	// Settled is how long after that the model's fleet is even again.
	Settled time.Duration
}

// StepReady is when the replicas of after the stimulus get Ready.
const StepReady = "replicas get ready"

// Script brings istiod and the proxies up, does what is to be done, and watches until
// the model's fleet is even again.
func (f Fleet) Script(ctx context.Context, st *stage.Stage, s Stimulus) error {
	cp := st.ControlPlane
	watch := f.Watch.Std()
	if watch == 0 {
		watch = s.Settled + margin
	}
	for _, step := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{StepDeploy, func(ctx context.Context) error { return cp.Deploy(ctx, f.Istiod()) }},
		{StepConnect, func(ctx context.Context) error { return cp.Connect(ctx, f.Proxies()) }},
		{StepSteady, func(ctx context.Context) error { return st.Pass(ctx, f.Steady.Std()) }},
		{s.Step, func(ctx context.Context) error { return s.Do(ctx, st) }},
		{StepReady, func(ctx context.Context) error { return cp.AwaitReady(ctx, s.Replicas, st.Patience(readyLimit)) }},
		{StepWatch, func(ctx context.Context) error { return st.Pass(ctx, watch) }},
	} {
		if err := st.Step(ctx, step.name, step.do); err != nil {
			return err
		}
	}
	return cp.Disconnect(ctx)
}

// Expected is how long the script takes if the replicas take what is nominal.
func (f Fleet) Expected(settled time.Duration) time.Duration {
	watch := f.Watch.Std()
	if watch == 0 {
		watch = settled + margin
	}
	ramp := time.Duration(float64(f.Connections) / (float64(f.Replicas) * f.Limit()) * float64(time.Second))
	return 2*Start + ramp + f.Steady.Std() + Start + watch
}
