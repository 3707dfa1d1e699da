package stage

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// InformerPods watches the pods of one namespace with a client-go informer.
type InformerPods struct {
	Client    kubernetes.Interface
	Namespace string
}

// Pods starts the informer and returns once it has synced.
func (p InformerPods) Pods(ctx context.Context) (func() []*corev1.Pod, <-chan struct{}, error) {
	source := cache.NewListWatchFromClient(p.Client.CoreV1().RESTClient(), "pods", p.Namespace, fields.Everything())
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	changed := make(chan struct{}, 1)
	signal := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal() },
		UpdateFunc: func(any, any) { signal() },
		DeleteFunc: func(any) { signal() },
	})
	if err != nil {
		return nil, nil, err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, nil, errors.Join(context.Cause(ctx), errors.New("the pod informer did not sync"))
	}
	list := func() []*corev1.Pod {
		var out []*corev1.Pod
		for _, o := range informer.GetStore().List() {
			out = append(out, o.(*corev1.Pod))
		}
		return out
	}
	return list, changed, nil
}
