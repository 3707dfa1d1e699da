package upgradenoop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// states are the last states of objects as they were received, each read once.
type states struct{ known map[string]known }

type known struct {
	rv   uint64
	view series.View
}

// of is the last state of an object.
func (s *states) of(rec *record.Recorder, resource, key string) (series.View, bool) {
	namespace, name, _ := strings.Cut(key, "/")
	for _, o := range rec.Objects(resource, namespace) {
		if o.Name == name {
			return s.read(resource, o), true
		}
	}
	return series.View{}, false
}

func (s *states) read(resource string, o record.State) series.View {
	id := resource + "/" + o.Namespace + "/" + o.Name
	if was, ok := s.known[id]; ok && was.rv == o.RV {
		return was.view
	}
	now := known{rv: o.RV}
	if err := json.Unmarshal(o.Body, &now.view); err != nil {
		return series.View{} // is asked for again with the next version
	}
	if s.known == nil {
		s.known = map[string]known{}
	}
	s.known[id] = now
	return now.view
}

// all are the last states of the Rollouts by "namespace/name".
func (s *states) all(rec *record.Recorder) map[string]series.View {
	out := map[string]series.View{}
	for _, o := range rec.Objects(rolloutResource, "") {
		out[o.Namespace+"/"+o.Name] = s.read(rolloutResource, o)
	}
	return out
}

// await waits until each of the Rollouts is as it is to be, and does what helps to
// those that are not yet; nil: nothing does. Those in doubt, and those that were
// rejected, are not waited for.
func (s *script) await(ctx context.Context, what string, members []Member, is func(Member, *series.View) bool, help func(Member, *series.View) error) error {
	begin := s.st.Clock.Now()
	if err := s.st.Recorder.Sync(ctx, rolloutResource); err != nil {
		return err
	}
	for {
		missing := ""
		now := s.states.all(s.st.Recorder)
		for _, m := range members {
			v, there := now[m.Key()]
			if !there || m.Doubt != "" || is(m, &v) {
				continue
			}
			missing = fmt.Sprintf("%s is %s: %s", m.Key(), v.Status.Phase, v.Status.Message)
			if help == nil {
				break
			}
			if err := help(m, &v); err != nil {
				return err
			}
		}
		if missing == "" {
			return nil
		}
		if s.st.Clock.Since(begin) > s.limit() {
			return fmt.Errorf("%s: %w within %s: %s", what, stage.ErrNotReached, s.limit(), missing)
		}
		if err := s.st.Pass(ctx, look); err != nil {
			return err
		}
	}
}

// calm waits until every Rollout is at rest and no Rollout, ReplicaSet or pod has
// changed for a while.
func (s *script) calm(ctx context.Context) error {
	begin, since, newest := s.st.Clock.Now(), s.st.Clock.Now(), uint64(0)
	if err := s.st.Recorder.Sync(ctx); err != nil {
		return err
	}
	for s.st.Clock.Since(begin) < s.limit() {
		now := uint64(0)
		for _, resource := range []string{rolloutResource, setResource, podResource} {
			for _, o := range s.st.Recorder.Objects(resource, "") {
				now = max(now, o.RV)
			}
		}
		if now != newest || !s.atRest() {
			newest, since = now, s.st.Clock.Now()
		}
		if s.st.Clock.Since(since) >= s.Calm.Std() {
			return nil
		}
		if err := s.st.Pass(ctx, look); err != nil {
			return err
		}
	}
	return fmt.Errorf("the fleet at rest: %w within %s", stage.ErrNotReached, s.limit())
}

// atRest says whether no Rollout is under way to anything, and no ReplicaSet about to go.
func (s *script) atRest() bool {
	now := s.states.all(s.st.Recorder)
	for _, m := range s.members {
		if v, there := now[m.Key()]; there && m.Doubt == "" && !settled(&v) {
			return false
		}
	}
	for _, o := range s.st.Recorder.Objects(setResource, "") {
		v := s.states.read(setResource, o)
		if v.Metadata.Annotations[deadlineAnnotation] != "" && v.Spec.Replicas != nil && *v.Spec.Replicas > 0 {
			return false
		}
	}
	return true
}

// bindPods binds pods that the scheduler has no node for until the context ends: nodes
// are simulated and have none of the labels, zones and volumes that a fleet asks for.
func (s *script) bindPods(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.bind(ctx) }()
	return done
}

func (s *script) bind(ctx context.Context) error {
	nodes, err := s.st.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		return ended(ctx, fmt.Errorf("listing nodes to bind pods to: %w", err))
	}
	for n := 0; ; n++ {
		var pod record.State
		pod, err = s.st.Recorder.Wait(ctx, podResource, "", func(o record.State) bool {
			var v series.View
			return json.Unmarshal(o.Body, &v) == nil && v.Spec.NodeName == "" && v.Is(string(corev1.PodScheduled), string(corev1.ConditionFalse))
		})
		if err != nil {
			return ended(ctx, err)
		}
		target := nodes.Items[n%len(nodes.Items)].Name
		err := s.st.Kube.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: target},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return ended(ctx, fmt.Errorf("binding pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
		if err := s.st.Recorder.Sync(ctx, podResource); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended: an error that the end of the script caused is none.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, record.ErrStopped) {
		return nil
	}
	return err
}
