package engine

import (
	"context"
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// processSite runs components as processes on this machine, on behalf of a
// cluster whose pods are simulated.
type processSite struct{ run *run }

var _ site = (*processSite)(nil)

func (*processSite) equip(context.Context, cluster.Cluster) error { return nil }

// install applies the CRDs.
func (s *processSite) install(ctx context.Context) error {
	r := s.run
	if !r.has(scenario.ArgoRollouts) {
		return nil
	}
	r.say("installing the CRDs of Argo Rollouts %s", r.cell.Versions[scenario.ArgoRollouts])
	return argorollouts.Install(ctx, r.cluster.RESTConfig(), r.parts[scenario.ArgoRollouts].Assets)
}

func (s *processSite) start(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	if !s.run.has(scenario.ArgoRollouts) {
		return nil
	}
	controller, err := s.controller(ctx, rec)
	if err != nil {
		return &partFault{argorollouts.Name, err}
	}
	go watchPart(ctx, fail, argorollouts.Name, controller.Process)
	rec.AddSampler(record.Metrics(argorollouts.Name, controller.MetricsURL, sampleInterval, nil, controllerMetrics...))
	return nil
}

// controllerMetrics are the prefixes of what is sampled of the controller.
var controllerMetrics = []string{"rollout", "controller_clientset", "workqueue_depth", "process_"}

func (s *processSite) controller(ctx context.Context, rec *record.Recorder) (*argorollouts.Controller, error) {
	r := s.run
	host, ok := r.cluster.(cluster.Host)
	if !ok {
		return nil, fmt.Errorf("provider %s cannot run controllers as processes", r.cell.Provider)
	}
	binary, err := r.parts.Path(scenario.ArgoRollouts, "rollouts-controller")
	if err != nil {
		return nil, err
	}
	ports, err := host.ReservePorts(2)
	if err != nil {
		return nil, err
	}
	r.say("starting Argo Rollouts %s", r.cell.Versions[scenario.ArgoRollouts])
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return argorollouts.Start(ctx, host.Supervisor(), argorollouts.Config{
		Binary: binary, Version: r.parts.versions(r.cell)[scenario.ArgoRollouts], Kubeconfig: r.cluster.Kubeconfig(),
		LogDir: host.LogDir(), HealthPort: ports[0], MetricsPort: ports[1],
		OnLine: rec.LogLine(argorollouts.Name), Clock: r.engine.Clock,
	})
}

// end has nothing to do: processes end with the cluster.
func (*processSite) end() {}

func (*processSite) furnish(context.Context, context.CancelCauseFunc, *record.Recorder, *stage.Stage) {
}

// leave has nothing to do: simulated pods cost the next run nothing.
func (*processSite) leave(context.Context) error { return nil }
