package stage

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/cluster"
)

// What a program does when it is told to end.
const (
	// Drain: it accepts nothing any more, ends what is under way, and exits.
	Drain = "drain"
	// Exit: it exits at once.
	Exit = "exit"
	// Linger: it goes on as before for a while, and drains then.
	Linger = "linger"
)

// App is how the program in the workload's pods behaves where pods are real.
type App struct {
	// ReadyAfter is how long it runs before it is ready. With ReadySlots the pods
	// become ready one after the other: a pod whose address is the k-th of
	// ReadySlots consecutive ones waits (k+1) x ReadyEvery more.
	ReadyAfter, ReadyEvery time.Duration
	ReadySlots             int
	// Concurrency is how many requests it serves at once; more are refused. 0: any.
	Concurrency int
	// Work is how long a request takes.
	Work time.Duration
	// OnTerm is Drain (also when empty), Exit or Linger, for LingerTime.
	OnTerm     string
	LingerTime time.Duration
	// PreStop is how long the kubelet sleeps before it sends SIGTERM.
	PreStop time.Duration
	// HashLabel is the label that holds the hash of the pod's template.
	HashLabel string
}

// Ports of the program: gRPC and HTTP, which also has the probes.
const (
	GRPCPort = 8080
	HTTPPort = 8081
)

// drainTime is what a program gets to drain, whole seconds.
const drainTime = 5 * time.Second

// Furnish makes a template that was written for simulated pods one of real
// pods, where pods are real: with the program that answers requests, its
// probes, and without a readiness that only a script could give.
func (s *Stage) Furnish(t *corev1.PodTemplateSpec, app App) {
	if !s.On.Has(cluster.Kubelet) {
		return
	}
	delete(t.Annotations, cluster.LingerAnnotation)
	t.Spec.ReadinessGates = nil
	t.Spec.EnableServiceLinks = new(false)
	t.Spec.AutomountServiceAccountToken = new(false)
	grace := (app.PreStop + app.LingerTime + drainTime).Round(time.Second)
	t.Spec.TerminationGracePeriodSeconds = new(int64(grace / time.Second))
	c := &t.Spec.Containers[0]
	c.Image, c.ImagePullPolicy, c.Args, c.Env = s.Image, corev1.PullNever, []string{"serve"}, app.env()
	c.Ports = []corev1.ContainerPort{{Name: "grpc", ContainerPort: GRPCPort}, {Name: "http", ContainerPort: HTTPPort}}
	// Without a share of its own a pod gets what all others leave, and serves for
	// seconds what takes it milliseconds while others start.
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	// A probe a second; a busy machine makes shorter time limits fail for no fault of the pod.
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(HTTPPort)}},
		PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 3,
	}
	if app.PreStop > 0 {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(app.PreStop.Round(time.Second) / time.Second)}}}
	}
}

// env is the program's configuration.
func (a App) env() []corev1.EnvVar {
	onTerm := a.OnTerm
	if onTerm == "" {
		onTerm = Drain
	}
	out := []corev1.EnvVar{
		FromField("POD_NAME", "metadata.name"), FromField("POD_IP", "status.podIP"),
		FromField("VERSION", "metadata.labels['"+VersionLabel+"']"), FromField("TEMPLATE_HASH", "metadata.labels['"+a.HashLabel+"']"),
		{Name: "READY_DELAY", Value: a.ReadyAfter.String()}, {Name: "ON_TERM", Value: onTerm},
		{Name: "CONCURRENCY", Value: strconv.Itoa(a.Concurrency)}, {Name: "WORK", Value: a.Work.String()},
	}
	if a.ReadySlots > 0 {
		out = append(out, corev1.EnvVar{Name: "READY_EVERY", Value: a.ReadyEvery.String()}, corev1.EnvVar{Name: "READY_SLOTS", Value: strconv.Itoa(a.ReadySlots)})
	}
	if a.LingerTime > 0 {
		out = append(out, corev1.EnvVar{Name: "LINGER", Value: a.LingerTime.String()})
	}
	return out
}

// FromField is a variable with what a field of its own pod says.
func FromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// PodPatience is how much longer waiting may take where kubelets start and end pods.
const PodPatience = 2 * time.Minute

// Patience is a limit of waiting, longer where pods are real.
func (s *Stage) Patience(limit time.Duration) time.Duration {
	if s.On.Has(cluster.Kubelet) {
		return limit + PodPatience
	}
	return limit
}

// Startup lets each pod of the version become ready d after it runs. Where pods
// are real their program does that by itself: see App.
func (s *Stage) Startup(version string, d time.Duration) {
	if s.Readiness != nil {
		s.Readiness.After(version, d)
	}
}
