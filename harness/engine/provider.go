package engine

import (
	"context"
	"errors"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/toolchain"
)

// Embedded is the provider of embedded clusters that run built parts, each in a
// directory of its own below root.
func Embedded(root string, parts Parts) (*embedded.Provider, error) {
	cfg := embedded.Config{Root: root, Versions: map[string]string{}, Digests: map[string]string{}}
	manager := scenario.Kubernetes
	if _, own := parts[scenario.ControllerManager]; own {
		manager = scenario.ControllerManager
	}
	for _, p := range []struct {
		component, program string
		path               *string
	}{
		{"etcd", "etcd", &cfg.Binaries.Etcd},
		{scenario.Kubernetes, "kube-apiserver", &cfg.Binaries.APIServer},
		{manager, "kube-controller-manager", &cfg.Binaries.ControllerManager},
		{scenario.Kubernetes, "kube-scheduler", &cfg.Binaries.Scheduler},
		{"kwok", "kwok", &cfg.Binaries.Kwok},
	} {
		path, err := parts.Path(p.component, p.program)
		if err != nil {
			return nil, err
		}
		*p.path = path
		artifact := parts[p.component]
		cfg.Versions[p.program] = artifact.Version
		for _, b := range artifact.Binaries {
			if b.Name == p.program {
				cfg.Digests[p.program] = "sha256:" + b.SHA256
			}
		}
	}
	return &embedded.Provider{Config: cfg}, nil
}

// Prepare sees to it, before anything is built or started, that there is what a
// cluster of containers for the cell is made of.
func (e *Engine) Prepare(ctx context.Context, cell plan.Cell) error {
	if !cluster.Offered(cell.Provider).Has(cluster.Kubelet) {
		return nil // made of built parts
	}
	provider, err := e.Provider(cell, nil)
	if err != nil {
		return err
	}
	if p, ok := provider.(cluster.Preparer); ok {
		return p.Prepare(ctx)
	}
	return nil
}

// Kind is the provider of clusters of containers that run a version of
// Kubernetes (empty: the pinned one), each in a directory of its own below root.
// NodeImage is auto (or empty), build, or a reference.
func Kind(root string, b *toolchain.Builder, kubernetes, nodeImage string, progress func(step string)) *kind.Provider {
	req := toolchain.Request{Component: "kind-node", Version: kubernetes}
	return &kind.Provider{Config: kind.Config{
		Root: root, Progress: progress,
		NodeImage: kind.NodeImage{
			Want: nodeImage, Kubernetes: kubernetes,
			Built: func(ctx context.Context) bool { return b.Cached(ctx, req) },
			Build: func(ctx context.Context) (kind.Archive, error) { return nodeArchive(ctx, b, req) },
		},
	}}
}

// nodeArchive builds the node image, or takes it from the cache.
func nodeArchive(ctx context.Context, b *toolchain.Builder, req toolchain.Request) (kind.Archive, error) {
	artifact, err := b.Build(ctx, req)
	if err != nil {
		return kind.Archive{}, err
	}
	if len(artifact.Images) != 1 {
		return kind.Archive{}, errors.New("the node image is not in its entry")
	}
	img := artifact.Images[0]
	return kind.Archive{Ref: img.Ref, ID: img.ID, Path: img.Path}, nil
}
