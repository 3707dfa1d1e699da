package istio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/stage"
)

// DeploymentConfig says how a script holds istiod's Deployment.
type DeploymentConfig struct {
	// Kube makes the script's requests.
	Kube kubernetes.Interface
	// Chart completes a configuration by the assets and the image of a version, empty:
	// of the run's own, which nodes have then.
	Chart func(ctx context.Context, version string, c *Config) error
	// Metrics is where a pod's are.
	Metrics func(pod string) incluster.Endpoint
	Clock   clock.Clock
	Observer
}

// Deployment is an installed istiod in the hands of a script.
type Deployment struct {
	istio *Istio
	cfg   DeploymentConfig
	stop  context.CancelFunc
	watch chan struct{} // closed when nothing is watched any more

	mu      sync.Mutex
	spec    *stage.Istiod // nil before Deploy
	pods    []*pod        // those that are not gone, the oldest first
	taken   map[string]string
	changed chan struct{}
	err     error
}

// Hold puts an installed istiod into the hands of a script. Close must be called.
func Hold(ctx context.Context, i *Istio, cfg DeploymentConfig) (*Deployment, error) {
	d := &Deployment{istio: i, cfg: cfg, watch: make(chan struct{}), taken: map[string]string{}, changed: make(chan struct{})}
	ctx, d.stop = context.WithCancel(ctx)
	if err := d.observe(ctx); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// Close lets go of it: what becomes of it from here on is not told.
func (d *Deployment) Close(context.Context) error {
	d.stop()
	<-d.watch
	return nil
}

// Deploy makes the installed istiod one of the spec, as `helm upgrade` does, and
// returns once all of its replicas are Ready and none of those before is left.
func (d *Deployment) Deploy(ctx context.Context, spec stage.Istiod) error {
	c, err := d.adopt(ctx, spec, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, deployLimit, fmt.Errorf("istiod is not rolled out within %s", deployLimit))
	defer cancel()
	if err := d.istio.Upgrade(ctx, c); err != nil {
		return err
	}
	return d.AwaitReady(ctx, spec.Replicas, deployLimit) // the watch has to see it too
}

// deployLimit is how long the roll to the first spec may take.
const deployLimit = 3 * time.Minute

// adopt makes a spec the one that is wanted, and returns it as the chart has it.
func (d *Deployment) adopt(ctx context.Context, spec stage.Istiod, values map[string]any) (Config, error) {
	if err := checkSpec(spec); err != nil {
		return Config{}, err
	}
	if spec.OwnProcs {
		return Config{}, errors.New("the chart always sets GOMAXPROCS of a pod: leaving it to Go's runtime is for processes")
	}
	c := chartOf(spec)
	c.Values = values
	if err := d.cfg.Chart(ctx, spec.Version, &c); err != nil {
		return Config{}, err
	}
	d.mu.Lock()
	d.spec = &spec
	d.mu.Unlock()
	return c, nil
}

// tellName is the variable that, when it is off, lets istiod tell proxies without a
// certificate who it is (pilot/pkg/xds/statusgen.go:77, 1.31).
const tellName = "ENABLE_DEBUG_ENDPOINT_AUTH"

// chartOf is a spec as the chart has it. A limit on CPU makes GOMAXPROCS.
func chartOf(spec stage.Istiod) Config {
	c := Config{Replicas: spec.Replicas, ConnectionAge: spec.ConnectionAge, Args: spec.Args, Env: map[string]string{tellName: "false"}}
	limit := resource.NewQuantity(int64(cpus(spec)), resource.DecimalSI)
	if spec.CPULimit > 0 {
		limit = resource.NewMilliQuantity(int64(spec.CPULimit), resource.DecimalSI)
	}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: *limit}
	if spec.MemoryLimit > 0 {
		c.Resources.Limits[corev1.ResourceMemory] = *resource.NewQuantity(spec.MemoryLimit, resource.BinarySI)
	}
	if spec.RequestLimit > 0 {
		c.Env[requestLimit] = number(spec.RequestLimit)
	}
	return c
}

// Restart rolls the Deployment: by a change of its template where the spec has
// one, and else by what `kubectl rollout restart` does.
func (d *Deployment) Restart(ctx context.Context, spec stage.Istiod, maxSurge int) error {
	if maxSurge < 1 {
		return fmt.Errorf("a surge of %d, expected 1 or more: no replica ends before another is Ready", maxSurge)
	}
	d.mu.Lock()
	before := d.spec
	d.mu.Unlock()
	if before == nil {
		return errors.New("istiod is not deployed yet")
	}
	c, err := d.adopt(ctx, spec, rolling(maxSurge))
	if err != nil {
		return err
	}
	if !sameTemplate(*before, spec) {
		return d.istio.Roll(ctx, c)
	}
	return d.patch(ctx, "", map[string]any{"spec": map[string]any{
		"replicas": spec.Replicas,
		"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": maxSurge, "maxUnavailable": 0}},
		"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			// polymorphichelpers/objectrestarter.go, kubectl v0.37.2
			"kubectl.kubernetes.io/restartedAt": d.cfg.Clock.Now().Format(time.RFC3339),
		}}},
	}})
}

// rolling are the chart's values of a roll in which no replica ends before another
// is Ready. Without them a quarter of the replicas may (values.yaml, 1.31).
func rolling(maxSurge int) map[string]any {
	return map[string]any{"rollingMaxSurge": maxSurge, "rollingMaxUnavailable": 0}
}

// sameTemplate says whether pods of two specs would be the same.
func sameTemplate(a, b stage.Istiod) bool {
	return a.Version == b.Version && a.ConnectionAge == b.ConnectionAge && a.RequestLimit == b.RequestLimit && a.MemoryLimit == b.MemoryLimit &&
		cpus(a) == cpus(b) && a.CPULimit == b.CPULimit && slices.Equal(a.Args, b.Args)
}

// Scale changes the number of replicas.
func (d *Deployment) Scale(ctx context.Context, replicas int) error {
	d.mu.Lock()
	if d.spec != nil {
		d.spec.Replicas = replicas
	}
	d.mu.Unlock()
	return d.patch(ctx, "scale", map[string]any{"spec": map[string]any{"replicas": replicas}})
}

func (d *Deployment) patch(ctx context.Context, subresource string, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	var sub []string
	if subresource != "" {
		sub = append(sub, subresource)
	}
	_, err = d.cfg.Kube.AppsV1().Deployments(d.istio.Namespace()).Patch(ctx, deployment, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager}, sub...)
	if err != nil {
		return fmt.Errorf("patching the deployment of istiod: %w", err)
	}
	return nil
}

// fieldManager owns what scripts change of the chart's objects.
const fieldManager = "reckon-script"

// Evict takes pods away: all requests are under way at once. Those that a budget
// refused are returned.
func (d *Deployment) Evict(ctx context.Context, names []string, how stage.Eviction) (refused []string, err error) {
	end, ok := map[string]func(context.Context, string) error{"eviction": d.evictPod, "delete": d.deletePod, "force": d.forcePod}[how.By]
	if !ok {
		return nil, fmt.Errorf("pods are not evicted by %q, expected eviction, delete or force", how.By)
	}
	if there := d.Replicas(); slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(there, n) }) {
		return nil, fmt.Errorf("not all of %s are there to evict: there are %s", strings.Join(names, ", "), strings.Join(there, ", "))
	}
	d.mark(how.By, names...)
	answers := make([]error, len(names))
	var requests sync.WaitGroup
	for i, name := range names {
		requests.Go(func() { answers[i] = end(ctx, name) })
	}
	requests.Wait()
	var errs []error
	for i, answer := range answers {
		switch {
		case apierrors.IsTooManyRequests(answer):
			refused = append(refused, names[i])
		case answer != nil && !apierrors.IsNotFound(answer):
			errs = append(errs, fmt.Errorf("evicting %s: %w", names[i], answer))
		default:
			d.leaves(names[i])
		}
	}
	d.mark("", refused...)
	return refused, errors.Join(errs...)
}

// mark notes by what means pods are about to go.
func (d *Deployment) mark(how string, names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		d.taken[name] = how
	}
}

// leaves notes that a pod is being deleted, which the watch has yet to show.
func (d *Deployment) leaves(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pods {
		if p.name == name {
			p.leaving = true
		}
	}
}

func (d *Deployment) evictPod(ctx context.Context, name string) error {
	return d.cfg.Kube.PolicyV1().Evictions(d.istio.Namespace()).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.istio.Namespace()}})
}

func (d *Deployment) deletePod(ctx context.Context, name string) error {
	return d.cfg.Kube.CoreV1().Pods(d.istio.Namespace()).Delete(ctx, name, metav1.DeleteOptions{})
}

func (d *Deployment) forcePod(ctx context.Context, name string) error {
	return d.cfg.Kube.CoreV1().Pods(d.istio.Namespace()).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

// Replicas names the pods that are not being deleted, the oldest first.
func (d *Deployment) Replicas() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, p := range d.pods {
		if !p.leaving {
			out = append(out, p.name)
		}
	}
	return out
}

// AwaitReady waits until exactly so many pods are there, all are Ready, and the
// Deployment does not roll.
func (d *Deployment) AwaitReady(ctx context.Context, replicas int, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, stage.ErrNotReached)
	defer cancel()
	for {
		there, ready, changed, err := d.count()
		if err != nil {
			return err
		}
		if there == replicas && ready == replicas {
			// What was asked for a moment ago no pod shows yet, but the Deployment does.
			if done, err := d.istio.Client.RolledOut(ctx, d.istio.Namespace(), deployment); err == nil && done {
				return nil
			}
		}
		select {
		case <-changed:
		case <-d.cfg.Clock.After(statusInterval):
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, stage.ErrNotReached) {
				return err
			}
			return fmt.Errorf("%d replicas of istiod, all Ready: %w within %s (%d are there, %d Ready)", replicas, stage.ErrNotReached, limit, there, ready)
		}
	}
}

// statusInterval is between two looks at the Deployment's status.
const statusInterval = 200 * time.Millisecond

// count counts the pods that are not leaving, and those of them that are Ready.
func (d *Deployment) count() (there, ready int, changed <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pods {
		if p.leaving {
			continue
		}
		there++
		if p.ready {
			ready++
		}
	}
	return there, ready, d.changed, d.err
}
