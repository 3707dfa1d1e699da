// Package e2eframework plugs embedded clusters into suites of
// sigs.k8s.io/e2e-framework. It is a package of its own so that programs that
// only want a cluster do not link the framework and the package testing.
package e2eframework

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"reckon.dev/reckon/harness/cluster/embedded"
)

var _ support.E2EClusterProvider = (*Provider)(nil)

// Provider lets suites of sigs.k8s.io/e2e-framework run on an embedded
// cluster: envfuncs.CreateClusterWithOpts(e2eframework.New(config), name).
type Provider struct {
	cfg     embedded.Config
	cluster *embedded.Cluster
}

// New makes an adapter. The binaries come from the configuration or WithPath,
// not from WithVersion: a cluster is five programs.
func New(cfg embedded.Config) *Provider { return &Provider{cfg: cfg} }

// WithName names the cluster.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	p.cfg.Name = name
	return p
}

// WithVersion changes nothing: the version is that of the configured binaries.
func (p *Provider) WithVersion(string) support.E2EClusterProvider { return p }

// WithPath takes a directory that holds the five programs.
func (p *Provider) WithPath(path string) support.E2EClusterProvider {
	p.cfg.Binaries = embedded.BinariesIn(path)
	return p
}

// WithOpts applies options of the framework.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// SetDefaults changes nothing: Create fills in defaults.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p }

// Create makes the cluster and returns the kubeconfig's path.
func (p *Provider) Create(ctx context.Context, args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("embedded cluster: arguments %q are not understood", args)
	}
	if p.cluster != nil {
		return p.cluster.Kubeconfig(), nil
	}
	c, err := embedded.Up(ctx, p.cfg)
	if err != nil {
		return "", err
	}
	p.cluster = c
	return c.Kubeconfig(), nil
}

// CreateWithConfig refuses: an embedded cluster has no configuration file.
func (p *Provider) CreateWithConfig(context.Context, string) (string, error) {
	return "", errors.New("embedded cluster: configuration files are not supported; use Create")
}

// GetKubeconfig is the kubeconfig's path, or empty before Create.
func (p *Provider) GetKubeconfig() string {
	if p.cluster == nil {
		return ""
	}
	return p.cluster.Kubeconfig()
}

// GenerateKubeconfig is the same file: there is only one administrator.
func (p *Provider) GenerateKubeconfig(...string) (string, error) {
	if p.cluster == nil {
		return "", errors.New("embedded cluster: not created yet")
	}
	return p.cluster.Kubeconfig(), nil
}

// GetKubectlContext is the context in the kubeconfig.
func (p *Provider) GetKubectlContext() string {
	if p.cluster == nil {
		return p.cfg.Name
	}
	return p.cluster.Name()
}

// ExportLogs copies the logs of all components.
func (p *Provider) ExportLogs(_ context.Context, dest string) error {
	if p.cluster == nil {
		return errors.New("embedded cluster: not created yet")
	}
	return os.CopyFS(dest, os.DirFS(p.cluster.LogDir()))
}

// Destroy removes the cluster.
func (p *Provider) Destroy(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	err := p.cluster.Down(ctx)
	p.cluster = nil
	return err
}

// WaitForControlPlane has nothing to wait for: Create returns a ready cluster.
func (p *Provider) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// KubernetesRestConfig is the administrator's, or nil before Create.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.RESTConfig()
}
