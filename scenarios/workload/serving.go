package workload

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// Serving are the parameters of pods that answer requests, where pods are real.
type Serving struct {
	scenario.Requests
	Shutdown string            `json:"shutdown" enum:"drain,exit" doc:"what the program does on SIGTERM, where pods are real: refuse what is new and end what is under way, or exit at once; with linger it first serves on for so long"`
	PreStop  scenario.Duration `json:"preStop" doc:"how long the kubelet sleeps before it sends SIGTERM, in whole seconds, where pods are real"`
}

// DefaultServing is a program that shuts down as most web servers do.
func DefaultServing() Serving {
	return Serving{
		Requests: scenario.Requests{Rate: 100, Work: scenario.Duration(20 * time.Millisecond)},
		Shutdown: stage.Drain,
	}
}

// Check refuses what contradicts itself.
func (p Serving) Check(d Deployment) error {
	if err := p.Requests.Check(); err != nil {
		return err
	}
	switch {
	case p.PreStop.Std()%time.Second != 0:
		return scenario.Refuse("preStop", "a preStop sleep has whole seconds, not %s", p.PreStop)
	case p.Shutdown == stage.Exit && d.Linger > 0:
		return scenario.Refuse("linger", "%s contradicts shutdown: exit: a program that exits at once does not linger", d.Linger)
	}
	return nil
}

// App is the program in real pods, which become ready after a start-up time.
func (p Serving) App(d Deployment, startup time.Duration) stage.App {
	app := stage.App{
		ReadyAfter: startup, Concurrency: p.Concurrency, Work: p.Work.Std(), OnTerm: p.Shutdown, PreStop: p.PreStop.Std(),
		HashLabel: appsv1.DefaultDeploymentUniqueLabelKey,
	}
	if d.Linger > 0 {
		app.OnTerm, app.LingerTime = stage.Linger, d.Linger.Std()
	}
	return app
}

// Ending is how long a real pod may take to terminate, beside its linger: its
// preStop, what it drains, and what the kubelet needs for both.
func (p Serving) Ending() time.Duration { return p.PreStop.Std() + scenario.AnswerLimit + notice }

// service is what requests are sent to.
func service(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": Name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(stage.HTTPPort)}},
		},
	}
}

// before is how long requests are sent before anything is done to the pods.
const before = 3 * time.Second

// Serve begins to send requests to the pods by way of their Service.
func (s *Script) Serve(p Serving) Act {
	if !p.Sends(s.Stage.On) {
		return func(context.Context) error { return nil }
	}
	start := s.Step(StepRequests, func(ctx context.Context) error {
		if err := s.Stage.Client.Create(ctx, service(s.Stage.Namespace)); err != nil {
			return err
		}
		return s.Stage.Traffic.Start(ctx, stage.Load{Client: stage.HTTP, Service: Name, Port: 80, Rate: p.Rate, Limit: scenario.AnswerLimit})
	})
	wait := s.Step(StepBefore, func(ctx context.Context) error { return s.Stage.Pass(ctx, before) })
	return func(ctx context.Context) error { return InOrder(ctx, start, wait) }
}

// EndRequests ends what Serve began.
func (s *Script) EndRequests(p Serving) Act {
	if !p.Sends(s.Stage.On) {
		return func(context.Context) error { return nil }
	}
	return s.Step(StepEnd, s.Stage.Traffic.Stop)
}
