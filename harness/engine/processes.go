package engine

import (
	"context"
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// processSite runs components as processes on this machine, on behalf of a
// cluster whose pods are simulated.
type processSite struct {
	run  *run
	mesh *controlPlane // nil where the script does not decide over istiod
	// releases is the controller, nil where the script leaves it alone.
	releases *releases
}

var _ site = (*processSite)(nil)

func (*processSite) equip(context.Context, cluster.Cluster) error { return nil }

// install applies the CRDs.
func (s *processSite) install(ctx context.Context) error {
	r := s.run
	if r.scripted() {
		r.say("installing the CRDs of Istio %s", r.cell.Versions[scenario.Istiod])
		if err := istio.InstallCRDs(ctx, r.cluster.RESTConfig(), r.parts[scenario.Istiod].Assets); err != nil {
			return err
		}
	}
	if !r.has(scenario.ArgoRollouts) {
		return nil
	}
	return s.installRollouts(ctx, r.cell.Versions[scenario.ArgoRollouts])
}

// installRollouts applies the CRDs of a version.
func (s *processSite) installRollouts(ctx context.Context, version string) error {
	r := s.run
	r.say("installing the CRDs of Argo Rollouts %s", version)
	return argorollouts.Install(ctx, r.cluster.RESTConfig(), r.parts[partOf(r.cell, scenario.ArgoRollouts, version)].Assets)
}

func (s *processSite) start(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	if s.run.scripted() {
		var err error
		if s.mesh, err = s.controlPlane(ctx, fail, rec); err != nil {
			return &partFault{istio.Name, err}
		}
	}
	if !s.run.has(scenario.ArgoRollouts) {
		return nil
	}
	first := s.run.cell.Versions[scenario.ArgoRollouts]
	if s.run.replaces() {
		s.releases = &releases{site: s, rec: rec}
		if err := s.releases.begin(ctx, fail, first); err != nil {
			return &partFault{argorollouts.Name, err}
		}
		return nil
	}
	controller, err := s.controller(ctx, rec, first, which{})
	if err != nil {
		return &partFault{argorollouts.Name, err}
	}
	go watchPart(ctx, fail, argorollouts.Name, controller.Process)
	rec.AddSampler(metricsOf(controller))
	return nil
}

// metricsOf samples a controller.
func metricsOf(c *argorollouts.Controller) record.Sampler {
	return record.Metrics(argorollouts.Name, sampleInterval, record.Page{URL: c.MetricsURL, Prefixes: controllerMetrics})
}

// controllerMetrics are the prefixes of what is sampled of the controller.
var controllerMetrics = []string{"rollout", "controller_clientset", "workqueue_depth", "process_"}

// which of several controllers one is; the zero value is the only one.
type which struct {
	number int
	elects bool
}

// process is its number in recordings, 0 where one runs at a time.
func (w which) process() int {
	if !w.elects {
		return 0
	}
	return w.number
}

func (s *processSite) controller(ctx context.Context, rec *record.Recorder, version string, w which) (*argorollouts.Controller, error) {
	r := s.run
	host, err := s.host()
	if err != nil {
		return nil, err
	}
	binary, err := r.parts.Path(partOf(r.cell, scenario.ArgoRollouts, version), "rollouts-controller")
	if err != nil {
		return nil, err
	}
	ports, err := host.ReservePorts(2)
	if err != nil {
		return nil, err
	}
	r.say("starting Argo Rollouts %s", version)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return argorollouts.Start(ctx, host.Supervisor(), argorollouts.Config{
		Binary: binary, Version: scenario.ModelVersion(version), Kubeconfig: r.cluster.Kubeconfig(),
		LogDir: host.LogDir(), HealthPort: ports[0], MetricsPort: ports[1], Elect: w.elects, Number: w.process(),
		OnLine: rec.LogLineOf(argorollouts.Name, w.process()), Clock: r.engine.Clock,
	})
}

func (s *processSite) host() (cluster.Host, error) {
	if host, ok := s.run.cluster.(cluster.Host); ok {
		return host, nil
	}
	return nil, fmt.Errorf("provider %s cannot run controllers as processes", s.run.cell.Provider)
}

// controlPlane is istiod and the proxies as processes, none of which is there yet.
func (s *processSite) controlPlane(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) (*controlPlane, error) {
	r := s.run
	host, err := s.host()
	if err != nil {
		return nil, err
	}
	binary, err := r.parts.Path(trafficProgram, "reckon-traffic")
	if err != nil {
		return nil, err
	}
	all, fleet := r.newProxies(ctx, fail, rec), &fleetProcess{host: host, binary: binary, fail: fail}
	all.fleet = fleet
	pulse := newPulse(r.engine.Clock)
	return &controlPlane{proxies: all, pulse: pulse, istiods: istio.NewProcesses(istio.ProcessConfig{
		Supervisor: host.Supervisor(), Ports: host.ReservePorts, Dir: host.LogDir(), Kubeconfig: r.cluster.Kubeconfig(), Clock: r.engine.Clock,
		Binary: func(_ context.Context, version string) (string, error) {
			part, err := r.istiodPart(version)
			if err != nil {
				return "", err
			}
			return r.parts.Path(part, "pilot-discovery")
		},
		Observer: r.observer(fail, rec, pulse, fleet.setReady),
	})}, nil
}

// end ends istiod and the proxies. Others end with the cluster.
func (s *processSite) end() {
	if s.releases != nil {
		s.releases.unwatch()
	}
	if s.mesh == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_ = s.mesh.close(ctx) // what does not end, ends with the cluster, or keeps it from its end
}

func (s *processSite) furnish(_ context.Context, _ context.CancelCauseFunc, _ *record.Recorder, st *stage.Stage) {
	if s.mesh != nil {
		st.ControlPlane = s.mesh
	}
	if s.releases != nil {
		st.Controller = s.releases
	}
}

// leave has nothing to do: simulated pods cost the next run nothing.
func (*processSite) leave(context.Context) error { return nil }
