package argorollouts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"reckon.dev/reckon/harness/component/incluster"
)

// DeployConfig says which controller runs in a cluster and how.
type DeployConfig struct {
	REST *rest.Config
	// Namespace that the controller runs in. It is made if there is none.
	// Several controllers share a cluster if each has its own.
	Namespace string
	// Watch is the namespace, made if there is none, whose Rollouts the
	// controller looks after. Empty: Namespace.
	Watch string
	// Image is a reference that every node has. Its program must be unedited: the
	// kubelet probes the pod's address (see toolchain.Request.Unedited), and its
	// user must not be root (see User).
	Image string
	// Assets is the directory with the manifests of the component's version.
	Assets string
	// Version is the release, for messages.
	Version string
	// Args are further arguments of the controller.
	Args []string
	// UpstreamProbes leaves the readiness probe at upstream's pace.
	UpstreamProbes bool
}

func (c DeployConfig) watches() string {
	if c.Watch == "" {
		return c.Namespace
	}
	return c.Watch
}

// Deployed is a controller that runs in a cluster. It is done when its pod goes
// away or its container restarts, unless that was asked for here.
type Deployed struct {
	// Pod is the name of the controller's pod.
	Pod string
	// Log is the container whose log is the controller's.
	Log incluster.Container
	// Metrics serves Prometheus text, Health says ok.
	Metrics, Health incluster.Endpoint
	// Client is the one that was used for deploying.
	Client *incluster.Client

	config  DeployConfig
	objects []*unstructured.Unstructured
	watch   *incluster.PodWatch
}

// Deploy runs the controller in a pod and returns once the pod is Ready and
// leads. The CRDs must be there: see Install. If it fails, nothing of it is left
// but the namespaces.
func Deploy(ctx context.Context, c DeployConfig) (*Deployed, error) {
	client, err := incluster.New(c.REST)
	if err != nil {
		return nil, err
	}
	d := &Deployed{Client: client, config: c}
	if err := d.roll(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("deploying the Argo Rollouts controller %s: %w", c.Version, err), client.Delete(cleanup, d.objects...))
	}
	return d, nil
}

// removeTime bounds the removal of what could not be deployed.
const removeTime = 30 * time.Second

// Done is closed when the controller is no longer what it was.
func (d *Deployed) Done() <-chan struct{} { return d.watch.Done() }

// Err says what became of it, nil if that was asked for.
func (d *Deployed) Err() error { return d.watch.Err() }

// roll applies the manifests and waits until a pod of them is Ready and leads.
func (d *Deployed) roll(ctx context.Context) error {
	var err error
	if d.objects, err = d.config.manifests(); err != nil {
		return err
	}
	for _, ns := range slices.Compact([]string{d.config.Namespace, d.config.watches()}) {
		if err := d.Client.EnsureNamespace(ctx, ns); err != nil {
			return err
		}
	}
	if err := d.Client.Apply(ctx, d.objects...); err != nil {
		return err
	}
	pods, err := d.Client.AwaitDeployment(ctx, d.config.Namespace, deployment)
	if err != nil {
		return err
	}
	if len(pods) != 1 {
		return fmt.Errorf("deployment %s/%s has %d pods, want 1", d.config.Namespace, deployment, len(pods))
	}
	d.of(ctx, &pods[0])
	if err := d.awaitLead(ctx); err != nil {
		d.watch.Stop()
		return err
	}
	return nil
}

// of fills in where the controller's pod can be reached.
func (d *Deployed) of(ctx context.Context, pod *corev1.Pod) {
	ns := pod.Namespace
	d.Pod = pod.Name
	d.Log = incluster.Container{Namespace: ns, Pod: pod.Name, Name: Container}
	d.Metrics = d.Client.Endpoint(ns, pod.Name, MetricsPort, "metrics")
	d.Health = d.Client.Endpoint(ns, pod.Name, HealthPort, "healthz")
	d.watch = d.Client.WatchPod(ctx, pod)
}

// Lock is the lease by which controllers agree who leads
// (controller/controller.go:100, v1.8.2).
const Lock = "argo-rollouts-controller-lock"

// awaitLead waits until the pod holds the lease. A Ready pod may still be
// waiting for it: a controller does not give the lease back when it ends
// (controller/controller.go:504, v1.8.2), so the next one has to wait until it
// is 15 s old.
func (d *Deployed) awaitLead(ctx context.Context) error {
	if slices.Contains(d.config.Args, "--leader-elect=false") {
		return nil
	}
	leases := d.Client.Kube.CoordinationV1().Leases(d.config.Namespace)
	for {
		lease, err := leases.Get(ctx, Lock, metav1.GetOptions{})
		holder := "nobody"
		if err == nil {
			holder = ptr.Deref(lease.Spec.HolderIdentity, holder)
		}
		// The identity is <host name>_<random>, and the host name the pod's.
		if strings.HasPrefix(holder, d.Pod+"_") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pod %s does not lead (%s does): %w", d.Pod, holder, context.Cause(ctx))
		case <-d.watch.Done():
			return d.watch.Err()
		case <-time.After(leadPoll):
		}
	}
}

const leadPoll = 100 * time.Millisecond

// Replace runs another version in the place of this one, as an upgrade does:
// its CRDs are applied, then its manifests, and the Deployment rolls to a new
// pod beside the old one. It returns the new controller once it leads; this one
// is done, without an error. If it fails, the cluster is left as it is, with both
// in it perhaps, for Remove of the old one.
//
// Namespaces are those of this one. Applying CRDs breaks open watches of their
// resources.
func (d *Deployed) Replace(ctx context.Context, c DeployConfig, opts ...InstallOption) (*Deployed, error) {
	c.REST, c.Namespace, c.Watch = d.config.REST, d.config.Namespace, d.config.Watch
	next := &Deployed{Client: d.Client, config: c}
	if err := Install(ctx, c.REST, c.Assets, opts...); err != nil {
		return nil, fmt.Errorf("replacing the Argo Rollouts controller %s by %s: %w", d.config.Version, c.Version, err)
	}
	d.watch.Stop()
	if err := next.roll(ctx); err != nil {
		return nil, fmt.Errorf("replacing the Argo Rollouts controller %s by %s: %w", d.config.Version, c.Version, err)
	}
	return next, nil
}

// Release ends the watch over the pod and leaves the controller where it is, in
// a cluster that is about to go.
func (d *Deployed) Release() {
	if d.watch != nil {
		d.watch.Stop()
	}
}

// Remove removes the controller and returns when its pod is gone. Namespaces and
// CRDs stay.
func (d *Deployed) Remove(ctx context.Context) error {
	d.Release()
	if err := d.Client.Delete(ctx, d.objects...); err != nil {
		return err
	}
	if err := d.Client.AwaitNoPods(ctx, d.config.Namespace, "app.kubernetes.io/name="+deployment); err != nil {
		return fmt.Errorf("removing the Argo Rollouts controller: %w", err)
	}
	// Who deploys the next one here must not wait for this one's lease.
	err := d.Client.Kube.CoordinationV1().Leases(d.config.Namespace).Delete(ctx, Lock, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting lease %s: %w", Lock, err)
	}
	return nil
}
