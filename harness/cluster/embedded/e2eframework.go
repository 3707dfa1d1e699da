package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"
)

var _ support.E2EClusterProvider = (*E2EProvider)(nil)

// E2EProvider lets suites of sigs.k8s.io/e2e-framework run on an embedded
// cluster: envfuncs.CreateClusterWithOpts(embedded.NewE2EProvider(config), name).
type E2EProvider struct {
	cfg     Config
	cluster *Cluster
}

// NewE2EProvider makes an adapter. The binaries come from the configuration,
// not from WithPath or WithVersion: a cluster is five programs.
func NewE2EProvider(cfg Config) *E2EProvider { return &E2EProvider{cfg: cfg} }

// WithName names the cluster.
func (p *E2EProvider) WithName(name string) support.E2EClusterProvider {
	p.cfg.Name = name
	return p
}

// WithVersion changes nothing: the version is that of the configured binaries.
func (p *E2EProvider) WithVersion(string) support.E2EClusterProvider { return p }

// WithPath takes a directory that holds the five programs.
func (p *E2EProvider) WithPath(path string) support.E2EClusterProvider {
	p.cfg.Binaries = BinariesIn(path)
	return p
}

// WithOpts applies options of the framework.
func (p *E2EProvider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// SetDefaults changes nothing: Create fills in defaults.
func (p *E2EProvider) SetDefaults() support.E2EClusterProvider { return p }

// Create makes the cluster and returns the kubeconfig's path.
func (p *E2EProvider) Create(ctx context.Context, args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("embedded cluster: arguments %q are not understood", args)
	}
	if p.cluster != nil {
		return p.cluster.Kubeconfig(), nil
	}
	c, err := Up(ctx, p.cfg)
	if err != nil {
		return "", err
	}
	p.cluster = c
	return c.Kubeconfig(), nil
}

// CreateWithConfig refuses: an embedded cluster has no configuration file.
func (p *E2EProvider) CreateWithConfig(context.Context, string) (string, error) {
	return "", errors.New("embedded cluster: configuration files are not supported; use Create")
}

// GetKubeconfig is the kubeconfig's path, or empty before Create.
func (p *E2EProvider) GetKubeconfig() string {
	if p.cluster == nil {
		return ""
	}
	return p.cluster.Kubeconfig()
}

// GenerateKubeconfig is the same file: there is only one administrator.
func (p *E2EProvider) GenerateKubeconfig(...string) (string, error) {
	if p.cluster == nil {
		return "", errors.New("embedded cluster: not created yet")
	}
	return p.cluster.Kubeconfig(), nil
}

// GetKubectlContext is the context in the kubeconfig.
func (p *E2EProvider) GetKubectlContext() string {
	if p.cluster == nil {
		return p.cfg.Name
	}
	return p.cluster.Name()
}

// ExportLogs copies the logs of all components.
func (p *E2EProvider) ExportLogs(_ context.Context, dest string) error {
	if p.cluster == nil {
		return errors.New("embedded cluster: not created yet")
	}
	return os.CopyFS(dest, os.DirFS(p.cluster.LogDir()))
}

// Destroy removes the cluster.
func (p *E2EProvider) Destroy(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	err := p.cluster.Down(ctx)
	p.cluster = nil
	return err
}

// WaitForControlPlane has nothing to wait for: Create returns a ready cluster.
func (p *E2EProvider) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// KubernetesRestConfig is the administrator's, or nil before Create.
func (p *E2EProvider) KubernetesRestConfig() *rest.Config {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.RESTConfig()
}
