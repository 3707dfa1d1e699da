package embedded

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// pollInterval is for what cannot be watched, on loopback only.
const pollInterval = 10 * time.Millisecond

// probeTimeout bounds one question.
const probeTimeout = 5 * time.Second

// probes ask the components whether they are ready.
type probes struct {
	plan   blueprint
	http   *http.Client
	client kubernetes.Interface
}

func newProbes(c *Cluster) (*probes, error) {
	config := c.RESTConfig()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &probes{plan: c.plan, http: client, client: set}, nil
}

func (p *probes) close() { p.http.CloseIdleConnections() }

// poll asks until the answer is yes, an error, or the context's end.
func (p *probes) poll(ctx context.Context, ask func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		yes, err := ask(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || yes {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// get asks one health endpoint. A refused connection is a no.
func (p *probes) get(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := p.http.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (p *probes) await(ctx context.Context, port, path string) error {
	url := p.plan.url(port) + path
	err := p.poll(ctx, func(ctx context.Context) (bool, error) { return p.get(ctx, url), nil })
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", url, err)
	}
	return nil
}

// apiServerReady includes the roles that the server makes at its first start
// (poststarthook/rbac/bootstrap-roles).
func (p *probes) apiServerReady(ctx context.Context) error {
	return p.await(ctx, portAPIServer, "/readyz")
}

func (p *probes) healthy(ctx context.Context, port string) error {
	return p.await(ctx, port, "/healthz")
}

// nodesReady waits until n nodes are Ready and free of taints: the controller
// manager takes the not-ready taint away only after it has seen the condition.
func (p *probes) nodesReady(ctx context.Context, n int) error {
	ready := map[string]bool{}
	nodes := p.client.CoreV1().Nodes()
	return p.until(ctx, "nodes", &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return nodes.Watch(ctx, o) },
	}, &corev1.Node{}, func(e watch.Event) (bool, error) {
		if node, ok := e.Object.(*corev1.Node); ok {
			ready[node.Name] = e.Type != watch.Deleted && usable(node)
		}
		count := 0
		for _, yes := range ready {
			if yes {
				count++
			}
		}
		return count >= n, nil
	})
}

func usable(node *corev1.Node) bool {
	if len(node.Spec.Taints) > 0 {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// defaultServiceAccount waits for the account without which no pod is admitted.
// The controller manager makes it, so this shows that its controllers work.
func (p *probes) defaultServiceAccount(ctx context.Context) error {
	accounts := p.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	one := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", "default").String()
		return o
	}
	return p.until(ctx, "the default service account", &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return accounts.List(ctx, one(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return accounts.Watch(ctx, one(o))
		},
	}, &corev1.ServiceAccount{}, func(e watch.Event) (bool, error) {
		return e.Type == watch.Added || e.Type == watch.Modified, nil
	})
}

func (p *probes) until(ctx context.Context, what string, lw cache.ListerWatcher, kind runtime.Object, done watchtools.ConditionFunc) error {
	if _, err := watchtools.UntilWithSync(ctx, lw, kind, nil, done); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
