package istio

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"reckon.dev/reckon/harness/recording"
)

// pod is a replica that is not gone.
type pod struct {
	uid      types.UID
	name     string
	unwatch  context.CancelFunc
	restarts int32 // when it was first seen
	ready    bool  // and not seen to be deleted
	leaving  bool  // it is being deleted, seen or not
	stopped  bool  // its program has ended
}

// observe follows istiod's pods until ctx ends, and returns once those are known
// that are there now.
func (d *Deployment) observe(ctx context.Context) error {
	pods := d.istio.Client.Kube.CoreV1().Pods(d.istio.Namespace())
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = Selector
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = Selector
			return pods.Watch(ctx, o)
		},
	}, d.istio.Client.Kube)
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { d.see(ctx, o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { d.see(ctx, o.(*corev1.Pod)) },
		DeleteFunc: func(o any) { d.gone(o) },
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(d.watch)
		informer.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return errors.Join(context.Cause(ctx), errors.New("istiod's pods could not be listed"))
	}
	return nil
}

// see takes in a state of a pod.
func (d *Deployment) see(ctx context.Context, now *corev1.Pod) {
	at := d.cfg.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.pods, func(p *pod) bool { return p.uid == now.UID })
	if i < 0 {
		watching, cancel := context.WithCancel(ctx)
		i = len(d.pods)
		d.pods = append(d.pods, &pod{uid: now.UID, name: now.Name, unwatch: cancel, restarts: restartsOf(now)})
		d.event(now.Name, recording.ReplicaStarted, int64(at))
		d.cfg.Began(watching, now.Name, d.cfg.Metrics(now.Name), 0)
	}
	p := d.pods[i]
	ready := now.DeletionTimestamp == nil && isReady(now)
	p.leaving = p.leaving || now.DeletionTimestamp != nil
	if !p.leaving && (restartsOf(now) > p.restarts || now.Status.Phase == corev1.PodFailed) {
		d.fail(fmt.Errorf("replica %s of istiod ended by itself: %s", now.Name, ending(now)))
	}
	if ready != p.ready {
		p.ready = ready
		what := recording.ReplicaUnready
		if ready {
			what = recording.ReplicaReady
		}
		d.event(now.Name, what, int64(at))
	}
	if !p.stopped && p.leaving && hasEnded(now) {
		p.stopped = true
		d.event(now.Name, recording.ReplicaStopped, int64(at))
	}
	d.publish()
}

// gone takes in the end of a pod.
func (d *Deployment) gone(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	last, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	at := d.cfg.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.pods, func(p *pod) bool { return p.uid == last.UID })
	if i < 0 {
		return
	}
	p := d.pods[i]
	d.pods = slices.Delete(d.pods, i, i+1)
	p.unwatch()
	if p.ready {
		d.event(p.name, recording.ReplicaUnready, int64(at))
	}
	d.event(p.name, recording.ReplicaGone, int64(at))
	d.publish()
}

// hasEnded says whether all containers have. A kubelet says so of a pod that is
// deleted once it has stopped the sandbox too, which ends the pod's network
// (killPodWithSyncResult, pkg/kubelet/kuberuntime/kuberuntime_manager.go:2134, and
// SyncTerminatingPod, pkg/kubelet/kubelet.go:2377, v1.37.2).
func hasEnded(p *corev1.Pod) bool {
	all := p.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil })
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// restartsOf is how often a kubelet had to start the pod's program again, under
// the same name.
func restartsOf(p *corev1.Pod) (n int32) {
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
		if s.State.Terminated != nil { // it will be
			n++
		}
	}
	return n
}

// ending says how a pod's program ended.
func ending(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if t != nil {
				return fmt.Sprintf("its container exited with code %d (%s)", t.ExitCode, t.Reason)
			}
		}
	}
	return fmt.Sprintf("it is %s: %s", p.Status.Phase, p.Status.Message)
}

func (d *Deployment) event(name string, what recording.ReplicaEvent, at int64) {
	d.cfg.Event(recording.Replica{Name: name, Event: what, AtNS: at, How: d.taken[name]})
}

// publish tells who connects, and who waits. Holds the lock.
func (d *Deployment) publish() {
	var ready []Endpoint
	for _, p := range d.pods {
		if p.ready {
			ready = append(ready, Endpoint{Name: p.name})
		}
	}
	d.cfg.Ready(ready)
	close(d.changed)
	d.changed = make(chan struct{})
}

// fail ends the run, once. Holds the lock.
func (d *Deployment) fail(err error) {
	if d.err == nil {
		d.err = err
		d.cfg.Fail(err)
	}
}
