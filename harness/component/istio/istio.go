// Package istio installs, upgrades and removes Istio's base and istiod in a
// cluster: real Helm releases of the charts that the component's own module
// carries. And it puts istiod's replicas into the hands of a script (package
// stage): the pods of such a release (Deployment), or processes beside a cluster
// whose pods are simulated (Processes).
package istio

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/component/incluster"
)

// Name of the component, and of its log in recordings.
const Name = "istiod"

// User is the number of the image's user. The chart insists on one that is not
// root; this is upstream's (pilot/docker/Dockerfile.pilot, 1.31).
const User = "1337"

// Namespace is the one that Istio's own documentation uses.
const Namespace = "istio-system"

// Ports of istiod: xDS without TLS, metrics, and readiness
// (templates/deployment.yaml, 1.31).
const (
	XDSPort     = 15010
	MetricsPort = 15014
	HTTPPort    = 8080
)

// deployment is what the chart calls istiod's Deployment, and its Service.
const deployment = "istiod"

// Config says which Istio is installed and how. It is meant for small clusters
// and for measuring: see values.
type Config struct {
	REST *rest.Config
	// Assets is the directory with the charts of the component's version.
	Assets string
	// Image is a reference that every node has, with a "/" in it.
	Image string
	// Namespace; empty: istio-system. It is made if there is none.
	Namespace string
	// Replicas of istiod; 0: 1.
	Replicas int
	// ConnectionAge is how long a proxy's connection may last
	// (keepaliveMaxServerConnectionAge); 0: the chart's half hour.
	ConnectionAge time.Duration
	// Resources of istiod. Empty: a small request and no limit. A limit on CPU
	// decides GOMAXPROCS and with it istiod's own throttles.
	Resources corev1.ResourceRequirements
	// Args are further arguments of istiod, Env further variables.
	Args []string
	Env  map[string]string
	// Values are merged over all others of the istiod chart.
	Values map[string]any
	// PullPolicy of the image; empty: Never, for images that were loaded.
	PullPolicy corev1.PullPolicy
	// Progress, if set, is told what is being done.
	Progress func(step string)
}

func (c Config) complete() Config {
	if c.Namespace == "" {
		c.Namespace = Namespace
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.PullPolicy == "" {
		c.PullPolicy = corev1.PullNever
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

// Istio is an installed Istio.
type Istio struct {
	// Client is the one that was used for installing.
	Client *incluster.Client

	config Config
}

// Install installs base and istiod and returns once every istiod is Ready. The
// CRDs may be there already: they are replaced by Istio's own. If it fails, what
// it installed is removed again, but for the CRDs and the namespace.
func Install(ctx context.Context, c Config) (*Istio, error) {
	i, err := newIstio(c)
	if err != nil {
		return nil, err
	}
	began, err := i.install(ctx)
	if err == nil {
		return i, nil
	}
	err = fmt.Errorf("installing Istio: %w", err)
	if !began { // what is there is not ours
		return nil, err
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	return nil, errors.Join(err, i.remove(cleanup)) // not waiting half a minute for istiod to end
}

// removeTime bounds the removal of what could not be installed.
const removeTime = 30 * time.Second

// Installed is an Istio that was installed before, in the namespace of the
// configuration, of which nothing else is looked at.
func Installed(c Config) (*Istio, error) { return newIstio(c) }

func newIstio(c Config) (*Istio, error) {
	c = c.complete()
	client, err := incluster.New(c.REST)
	if err != nil {
		return nil, err
	}
	return &Istio{Client: client, config: c}, nil
}

// install says whether it changed anything in the cluster.
func (i *Istio) install(ctx context.Context) (began bool, err error) {
	charts, err := loadCharts(i.config.Assets)
	if err != nil {
		return false, err
	}
	h, err := i.helm(ctx)
	if err != nil {
		return false, err
	}
	defer h.close()
	if err := h.mustBeFree(releaseBase, releaseIstiod); err != nil {
		return false, err
	}
	if err := i.Client.EnsureNamespace(ctx, i.config.Namespace); err != nil {
		return false, err
	}
	i.config.Progress("installing Istio's base")
	if err := h.install(releaseBase, charts.base, baseValues()); err != nil {
		return true, err
	}
	i.config.Progress("installing istiod")
	if err := h.install(releaseIstiod, charts.istiod, i.config.values()); err != nil {
		return true, err
	}
	return true, i.await(ctx, charts)
}

// Upgrade replaces the version in place, as `helm upgrade` of base and then of
// istiod does: the CRDs first, then a roll of the Deployment. It returns once
// every istiod is of the new version and Ready. A failed upgrade is left as it
// is. The namespace stays that of the installation.
func (i *Istio) Upgrade(ctx context.Context, c Config) error {
	charts, err := i.upgrade(ctx, c)
	if err == nil {
		err = i.await(ctx, charts)
	}
	if err != nil {
		return fmt.Errorf("upgrading Istio: %w", err)
	}
	return nil
}

// Roll is Upgrade without the waiting: the Deployment rolls when it returns.
func (i *Istio) Roll(ctx context.Context, c Config) error {
	if _, err := i.upgrade(ctx, c); err != nil {
		return fmt.Errorf("upgrading Istio: %w", err)
	}
	return nil
}

func (i *Istio) upgrade(ctx context.Context, c Config) (charts, error) {
	c.REST, c.Namespace = i.config.REST, i.config.Namespace
	c = c.complete()
	charts, err := loadCharts(c.Assets)
	if err != nil {
		return charts, err
	}
	h, err := i.helm(ctx)
	if err != nil {
		return charts, err
	}
	defer h.close()
	i.config = c
	c.Progress("upgrading Istio's base")
	if err := h.upgrade(releaseBase, charts.base, baseValues()); err != nil {
		return charts, err
	}
	c.Progress("upgrading istiod")
	return charts, h.upgrade(releaseIstiod, charts.istiod, c.values())
}

// await waits for the CRDs to be served, and for istiod.
func (i *Istio) await(ctx context.Context, charts charts) error {
	i.config.Progress("waiting for istiod")
	for _, crd := range charts.crds {
		if err := i.Client.AwaitEstablished(ctx, crd); err != nil {
			return err
		}
	}
	_, err := i.Client.AwaitDeployment(ctx, i.config.Namespace, deployment)
	return err
}

// Uninstall removes istiod and base, and returns when no istiod is left. The CRDs
// stay, as the charts want, and with them what users made of them; so does the
// namespace. What is not installed is fine.
func (i *Istio) Uninstall(ctx context.Context) error {
	if err := i.remove(ctx); err != nil {
		return err
	}
	if err := i.Client.AwaitNoPods(ctx, i.config.Namespace, Selector); err != nil {
		return fmt.Errorf("uninstalling Istio: %w", err)
	}
	return nil
}

// remove removes the releases.
func (i *Istio) remove(ctx context.Context) error {
	h, err := i.helm(ctx)
	if err != nil {
		return fmt.Errorf("uninstalling Istio: %w", err)
	}
	defer h.close()
	if err := errors.Join(h.uninstall(releaseIstiod), h.uninstall(releaseBase)); err != nil {
		return fmt.Errorf("uninstalling Istio: %w", err)
	}
	return nil
}

// Selector is of istiod's pods.
const Selector = "app=istiod"

// Namespace is where it is installed.
func (i *Istio) Namespace() string { return i.config.Namespace }

// XDSAddress is where pods reach the istiod of a namespace, without TLS.
func XDSAddress(namespace string) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local:%d", deployment, namespace, XDSPort)
}

// Pods are istiod's pods as they are now, by name.
func (i *Istio) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := i.Client.Kube.CoreV1().Pods(i.config.Namespace).List(ctx, metav1.ListOptions{LabelSelector: Selector})
	if err != nil {
		return nil, fmt.Errorf("listing istiod's pods: %w", err)
	}
	return list.Items, nil
}

// Metrics serves Prometheus text of a pod.
func (i *Istio) Metrics(pod string) incluster.Endpoint {
	return i.Client.Endpoint(i.config.Namespace, pod, MetricsPort, "metrics")
}
