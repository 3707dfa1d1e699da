package istio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"reckon.dev/reckon/harness/component/incluster"
)

// The releases, by the names that Istio's documentation gives them.
const (
	releaseBase   = "istio-base"
	releaseIstiod = "istiod"
)

// charts are those of one version of Istio.
type charts struct {
	base, istiod *chart.Chart
	crds         []string // names of the CRDs in base
}

func loadCharts(assets string) (charts, error) {
	dir := filepath.Join(assets, "manifests", "charts")
	var c charts
	var err error
	if c.base, err = loader.LoadDir(filepath.Join(dir, "base")); err != nil {
		return c, fmt.Errorf("no chart of Istio's base, rebuild the component: %w", err)
	}
	if c.istiod, err = loader.LoadDir(filepath.Join(dir, "istio-control", "istio-discovery")); err != nil {
		return c, fmt.Errorf("no chart of istiod, rebuild the component: %w", err)
	}
	objects, err := incluster.ReadManifests(filepath.Join(dir, "base", "files", "crd-all.gen.yaml"))
	for _, o := range objects {
		c.crds = append(c.crds, o.GetName())
	}
	return c, err
}

// helm is Helm's library, kept to one namespace of one cluster and to one
// context. Nothing of the user's Helm is read: neither settings nor kubeconfig.
type helm struct {
	ctx    context.Context
	cancel context.CancelFunc
	config *action.Configuration
	space  string
}

func (i *Istio) helm(ctx context.Context) (*helm, error) {
	ctx, cancel := context.WithCancel(ctx)
	h := &helm{ctx: ctx, cancel: cancel, space: i.config.Namespace}
	// Helm logs what it also returns.
	h.config = action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	getter, err := newGetter(ctx, i.config.REST, i.config.Namespace)
	if err == nil {
		err = h.config.Init(getter, i.config.Namespace, "secret")
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return h, nil
}

// close ends the requests that are still under way.
func (h *helm) close() { h.cancel() }

// failed makes one line of Helm's errors.
func (h *helm) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	if h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	return fmt.Errorf("release %s: %s", name, strings.Join(strings.Fields(err.Error()), " "))
}

// mustBeFree refuses to install over what somebody else installed.
func (h *helm) mustBeFree(names ...string) error {
	for _, name := range names {
		last, err := h.config.Releases.Last(name)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			continue
		}
		if err != nil {
			return h.failed(name, err)
		}
		if r, ok := last.(*release.Release); ok && r.Info.Status != common.StatusUninstalled {
			return fmt.Errorf("namespace %s has a Helm release %s already (%s)", h.space, name, r.Info.Status)
		}
	}
	return nil
}

// install makes a release. Waiting is ours: we can say why it takes long. CRDs
// that somebody else applied are taken over.
func (h *helm) install(name string, c *chart.Chart, values map[string]any) error {
	a := action.NewInstall(h.config)
	a.ReleaseName, a.Namespace = name, h.space
	a.WaitStrategy = kube.HookOnlyStrategy
	a.TakeOwnership, a.ForceConflicts = true, true
	_, err := a.RunWithContext(h.ctx, c, values)
	return h.failed(name, err)
}

// upgrade makes the next revision of a release. Values are ours alone, and not
// what the revision before had.
func (h *helm) upgrade(name string, c *chart.Chart, values map[string]any) error {
	a := action.NewUpgrade(h.config)
	a.Namespace = h.space
	a.WaitStrategy = kube.HookOnlyStrategy
	a.TakeOwnership, a.ForceConflicts = true, true
	a.ResetValues = true
	_, err := a.RunWithContext(h.ctx, name, c, values)
	return h.failed(name, err)
}

func (h *helm) uninstall(name string) error {
	a := action.NewUninstall(h.config)
	a.IgnoreNotFound = true
	a.WaitStrategy = kube.HookOnlyStrategy
	_, err := a.Run(name)
	return h.failed(name, err)
}

// getter is what Helm asks for clients. All of it is in memory.
type getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
	client    clientcmd.ClientConfig
}

func newGetter(ctx context.Context, config *rest.Config, namespace string) (*getter, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &bound{ctx: ctx, next: rt} })
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(d)
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: namespace}}
	return &getter{
		config: config, discovery: cached, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached),
		client: clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides),
	}, nil
}

func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}
func (g *getter) ToRESTMapper() (meta.RESTMapper, error)        { return g.mapper, nil }
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig { return g.client }

// bound ends requests with a context of its own: Helm makes most of its requests
// with none, and goes on in the background when it is cancelled
// (pkg/action/install.go, RunWithContext, v4.3.2).
type bound struct {
	ctx  context.Context
	next http.RoundTripper
}

func (b *bound) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	end := func() { stop(); cancel(nil) }
	resp, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		}
		end()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, end: end}
	return resp, nil
}

// body ends the request's context when it is closed.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
