package kind

import (
	"context"

	"reckon.dev/reckon/harness/cluster"
)

var (
	_ cluster.Provider = (*Provider)(nil)
	_ cluster.Preparer = (*Provider)(nil)
)

// Provider makes kind clusters for code that does not care which kind.
type Provider struct {
	// Config is the pattern. Its Options are replaced by those of each call.
	Config Config
}

// Name is "kind".
func (p *Provider) Name() string { return providerName }

// Fidelity is the line that every report prints.
func (p *Provider) Fidelity() string { return fidelity }

// Offers lists what scenarios may need and find here.
func (p *Provider) Offers() cluster.Capabilities { return cluster.Offered(providerName) }

// Prepare makes sure that the engine has the image of the nodes. The error is
// ErrNoImage if there is none to be had.
func (p *Provider) Prepare(ctx context.Context) error {
	cfg, err := p.Config.complete()
	if err != nil {
		return err
	}
	e, err := findEngine(ctx)
	if err != nil {
		return err
	}
	_, err = cfg.NodeImage.resolve(ctx, e, cfg.Progress)
	return err
}

// Up makes a cluster.
func (p *Provider) Up(ctx context.Context, opts cluster.Options) (cluster.Cluster, error) {
	cfg := p.Config
	cfg.Options = opts
	c, err := Up(ctx, cfg)
	if err != nil {
		return nil, err // not c: a nil *Cluster is not a nil interface
	}
	return c, nil
}

// List returns the clusters of the root.
func (p *Provider) List(ctx context.Context) ([]cluster.Summary, error) {
	return List(ctx, p.Config.Root)
}

// Down removes a cluster by name.
func (p *Provider) Down(ctx context.Context, name string) error {
	return Down(ctx, p.Config.Root, name)
}

// Clean removes what crashes left.
func (p *Provider) Clean(ctx context.Context, all bool) ([]cluster.Removed, error) {
	return Clean(ctx, p.Config.Root, all)
}
