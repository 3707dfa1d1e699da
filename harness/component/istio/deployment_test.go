package istio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
)

// frozen is a clock that stands still, and on which waiting is for real.
type frozen struct{ clock.RealClock }

func (frozen) Now() time.Time { return time.Unix(1_800_000_000, 0) }

// held is an istiod of a fake cluster in a test's hands.
type held struct {
	*Deployment
	t    *testing.T
	kube *fake.Clientset

	mu     sync.Mutex
	events []string
	failed error
}

func hold(t *testing.T, pods ...string) *held {
	t.Helper()
	h := &held{t: t, kube: fake.NewClientset()}
	for _, name := range pods {
		h.update(name, true, nil)
	}
	rolledOut := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: Namespace}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))},
		Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}
	if _, err := h.kube.AppsV1().Deployments(Namespace).Create(t.Context(), rolledOut, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var err error
	h.Deployment, err = Hold(t.Context(), &Istio{Client: &incluster.Client{Kube: h.kube}, config: Config{Namespace: Namespace}}, DeploymentConfig{
		Kube: h.kube, Clock: frozen{},
		Metrics: func(string) incluster.Endpoint { return incluster.Endpoint{} },
		Chart:   func(context.Context, string, *Config) error { return nil },
		Observer: Observer{
			Now: func() time.Duration { return 0 }, Ready: func([]Endpoint) {}, Began: func(context.Context, string, incluster.Endpoint, int) {},
			Event: h.event, Fail: func(err error) { h.mu.Lock(); defer h.mu.Unlock(); h.failed = errors.Join(h.failed, err) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *held) event(e recording.Replica) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, strings.TrimSpace(fmt.Sprint(e.Name, " ", e.Event, " ", e.How)))
}

// update makes or changes a pod.
func (h *held) update(name string, ready bool, change func(*corev1.Pod)) {
	h.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, UID: types.UID(name), Labels: map[string]string{"app": "istiod"}}}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	if change != nil {
		change(p)
	}
	pods := h.kube.CoreV1().Pods(Namespace)
	_, err := pods.Update(h.t.Context(), p, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = pods.Create(h.t.Context(), p, metav1.CreateOptions{})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func leaving(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Unix(1_800_000_000, 0)) }

// sees waits until these are all events.
func (h *held) sees(want ...string) {
	h.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		h.mu.Lock()
		got := slices.Clone(h.events)
		h.mu.Unlock()
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("events %q, want %q", got, want)
		}
	}
}

func TestTheLivesOfPodsAreTold(t *testing.T) {
	t.Parallel()
	h := hold(t, "a")
	h.sees("a started", "a ready")
	h.update("b", false, nil)
	h.sees("a started", "a ready", "b started")
	if got := h.Replicas(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("replicas %v", got)
	}
	if err := h.AwaitReady(t.Context(), 2, 50*time.Millisecond); !errors.Is(err, stage.ErrNotReached) || !strings.Contains(err.Error(), "2 are there, 1 Ready") {
		t.Errorf("error %v", err)
	}
	h.update("b", true, nil)
	if err := h.AwaitReady(t.Context(), 2, limit); err != nil {
		t.Error(err)
	}
	h.update("a", true, leaving)
	h.sees("a started", "a ready", "b started", "b ready", "a unready")
	if err := h.AwaitReady(t.Context(), 1, limit); err != nil {
		t.Error(err)
	}
	if err := h.kube.CoreV1().Pods(Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.sees("a started", "a ready", "b started", "b ready", "a unready", "a gone")
	if h.failed != nil {
		t.Error(h.failed)
	}
}

func TestAPodThatIsDeletedStopsOnceAllOfItHasEnded(t *testing.T) {
	t.Parallel()
	h := hold(t, "a")
	state := func(ended ...bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			leaving(p)
			for _, has := range ended {
				var s corev1.ContainerStatus
				if has {
					s.State.Terminated = &corev1.ContainerStateTerminated{}
				}
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			}
		}
	}
	before := []string{"a started", "a ready", "a unready"}
	h.update("a", false, state())
	h.update("a", false, state(true, false))
	h.sees(before...)
	h.update("a", false, state(true, true))
	h.sees(append(before, "a stopped")...)
	h.update("a", true, state(true, true))
	if err := h.kube.CoreV1().Pods(Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.sees(append(before, "a stopped", "a gone")...)
	if h.failed != nil {
		t.Error(h.failed)
	}
}

func TestAPodWhoseProgramEndsByItselfFailsTheRun(t *testing.T) {
	t.Parallel()
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	h := hold(t)
	h.update("a", true, func(p *corev1.Pod) { // before it was held
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, LastTerminationState: ended}}
	})
	h.sees("a started", "a ready")
	h.update("a", false, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1, State: ended}}
	})
	if err := h.AwaitReady(t.Context(), 9, limit); err == nil || !strings.Contains(err.Error(), "replica a of istiod ended by itself") || !strings.Contains(err.Error(), "137 (OOMKilled)") {
		t.Errorf("error %v", err)
	}
}

func TestWhatABudgetRefusesStays(t *testing.T) {
	t.Parallel()
	h := hold(t, "a", "b", "c")
	h.kube.PrependReactor("create", "pods/eviction", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name == "a" {
			return true, nil, apierrors.NewTooManyRequests("the budget", 0)
		}
		return true, nil, nil
	})
	refused, err := h.Evict(t.Context(), []string{"a", "b"}, stage.Eviction{By: "eviction"})
	if err != nil || !slices.Equal(refused, []string{"a"}) {
		t.Errorf("refused %v, %v", refused, err)
	}
	if got := h.Replicas(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("replicas %v, before the watch shows anything", got)
	}
	h.update("b", true, leaving)
	h.sees("a started", "a ready", "b started", "b ready", "c started", "c ready", "b unready eviction")
}

func TestPodsAreDeletedWithAndWithoutGrace(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{"delete": "<nil>", "force": "0"} {
		h := hold(t, "a")
		grace := "none asked"
		h.kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			grace = "<nil>"
			if s := action.(clienttesting.DeleteActionImpl).DeleteOptions.GracePeriodSeconds; s != nil {
				grace = fmt.Sprint(*s)
			}
			return false, nil, nil
		})
		if _, err := h.Evict(t.Context(), []string{"a"}, stage.Eviction{By: by}); err != nil || grace != want {
			t.Errorf("%s: grace %s, want %s, %v", by, grace, want, err)
		}
		h.sees("a started", "a ready", "a unready "+by, "a gone "+by)
	}
}

func TestWhatIsAskedOfTheDeployment(t *testing.T) {
	t.Parallel()
	spec := stage.Istiod{Replicas: 3, ConnectionAge: time.Minute}
	for name, c := range map[string]struct {
		do   func(h *held) error
		want string
	}{
		"a scale": {func(h *held) error { return h.Scale(t.Context(), 6) }, `scale {"spec":{"replicas":6}}`},
		"a restart": {func(h *held) error { return h.Restart(t.Context(), spec, 3) },
			` {"spec":{"replicas":3,"strategy":{"rollingUpdate":{"maxSurge":3,"maxUnavailable":0}},"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"` +
				time.Unix(1_800_000_000, 0).Format(time.RFC3339) + `"}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			h, before := hold(t), spec
			h.spec = &before
			var got string
			h.kube.PrependReactor("patch", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
				var patch map[string]any
				raw := action.(clienttesting.PatchAction).GetPatch()
				if err := json.Unmarshal(raw, &patch); err != nil {
					t.Error(err)
				}
				got = action.GetSubresource() + " " + string(raw)
				return true, &appsv1.Deployment{}, nil
			})
			if err := c.do(h); err != nil || got != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestWhatPodsCannotDoIsRefused(t *testing.T) {
	t.Parallel()
	h := hold(t, "a")
	h.sees("a started", "a ready")
	ctx := t.Context()
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"a signal":                {func() error { _, err := h.Evict(ctx, []string{"a"}, stage.Eviction{By: "SIGKILL"}); return err }, "eviction, delete or force"},
		"one that is not there":   {func() error { _, err := h.Evict(ctx, []string{"x"}, stage.Eviction{By: "force"}); return err }, "there are a"},
		"a restart before any":    {func() error { return h.Restart(ctx, stage.Istiod{Replicas: 1}, 1) }, "not deployed yet"},
		"a restart without surge": {func() error { return h.Restart(ctx, stage.Istiod{Replicas: 1}, 0) }, "surge of 0"},
		"Go's own GOMAXPROCS":     {func() error { return h.Deploy(ctx, stage.Istiod{Replicas: 1, OwnProcs: true}) }, "always sets GOMAXPROCS"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestTheChartHasWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	assets := sources(t)[0]
	deploymentOf := func(t *testing.T, spec stage.Istiod, values map[string]any) appsv1.Deployment {
		c := chartOf(spec)
		c.Image, c.Values = "a/b:c", values
		var d appsv1.Deployment
		for _, o := range rendered(t, assets, c) {
			if o.GetKind() != "Deployment" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	d := deploymentOf(t, stage.Istiod{Replicas: 4, ConnectionAge: time.Minute, RequestLimit: 2.5, CPUs: 2, MemoryLimit: 1 << 30, Args: []string{"--shutdownDuration=1s"}}, rolling(3))
	if roll := d.Spec.Strategy.RollingUpdate; *d.Spec.Replicas != 4 || roll.MaxSurge.String() != "3" || roll.MaxUnavailable.String() != "0" {
		t.Errorf("replicas %d, rolled by %+v", *d.Spec.Replicas, roll)
	}
	c := d.Spec.Template.Spec.Containers[0]
	if c.Resources.Limits.Cpu().String() != "2" || c.Resources.Limits.Memory().String() != "1Gi" || !strings.Contains(strings.Join(c.Args, " "), "--keepaliveMaxServerConnectionAge 1m0s") || !slices.Contains(c.Args, "--shutdownDuration=1s") {
		t.Errorf("limits %v, args %q", c.Resources.Limits, c.Args)
	}
	for _, want := range []string{"PILOT_MAX_REQUESTS_PER_SECOND 2.5", tellName + " false", "GOMAXPROCS limits.cpu"} {
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return want == e.Name+" "+valueOf(e) }) {
			t.Errorf("no variable %s among %v", want, c.Env)
		}
	}
	limited := deploymentOf(t, stage.Istiod{Replicas: 1, CPULimit: 600}, nil).Spec.Template.Spec.Containers[0]
	if got := limited.Resources.Limits.Cpu().String(); got != "600m" {
		t.Errorf("a limit of 600m is %s", got)
	}
	own := deploymentOf(t, stage.Istiod{Replicas: 1}, nil).Spec.Template.Spec.Containers[0]
	if own.Resources.Limits.Cpu().String() != "1" || !own.Resources.Limits.Memory().IsZero() || slices.ContainsFunc(own.Env, func(e corev1.EnvVar) bool { return e.Name == requestLimit }) {
		t.Errorf("istiod's own: limits %v, env %v", own.Resources.Limits, own.Env)
	}
}

// valueOf is a variable's value, or the limit that it has it from.
func valueOf(e corev1.EnvVar) string {
	if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil {
		return e.ValueFrom.ResourceFieldRef.Resource
	}
	return e.Value
}
