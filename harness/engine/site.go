package engine

import (
	"context"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/stage"
)

// site is where the components under test run: as processes beside the cluster,
// or as pods in it.
type site interface {
	// equip puts into a cluster that just came up what all runs on it share.
	equip(ctx context.Context, c cluster.Cluster) error
	// install puts in place what this run's components need before they start.
	install(ctx context.Context) error
	// start starts this run's components, with their logs and metrics going to the
	// recorder. One that ends by itself fails the run.
	start(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error
	// end stops watching over the components. What they said until then is recorded
	// when it returns.
	end()
	// furnish completes the stage with what only this kind of cluster has.
	furnish(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder, st *stage.Stage)
	// leave removes what the run put into a cluster that others go on using.
	leave(ctx context.Context) error
}

func (r *run) newSite() site {
	if r.on.Has(cluster.Kubelet) {
		return &podSite{run: r}
	}
	return &processSite{run: r}
}
