package kind

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cluster"
)

const (
	providerName = cluster.Kind
	fidelity     = "everything real: kubelets, containers, probes, signals, kube-proxy and CNI, on nodes that are containers of one machine"
	defaultNodes = 1
	maxNodes     = cluster.MaxWorkers + 1
)

// Config says what cluster to make.
type Config struct {
	cluster.Options

	// Root is the directory that holds all kind clusters of a user. Required.
	Root string
	// NodeImage says what the nodes run.
	NodeImage NodeImage
	// Progress, if set, is told what is being done.
	Progress func(step string)
	// Clock is for records. Nil: the real one.
	Clock clock.PassiveClock
}

// NodeImage says where the image of the nodes comes from.
type NodeImage struct {
	// Want is "auto" (or empty), "build", or a reference that the engine has or
	// can pull.
	Want string
	// Kubernetes is the version wanted of "auto" and "build"; empty: the one that
	// reckon pins.
	Kubernetes string
	// Build makes the image, or takes it from the cache.
	Build func(ctx context.Context) (Archive, error)
	// Built says whether Build would find it in the cache. Nil: no.
	Built func(ctx context.Context) bool
}

// Archive is an image in a file, for the engine to load.
type Archive struct{ Ref, ID, Path string }

// complete fills in defaults and refuses what cannot work.
func (c Config) complete() (Config, error) {
	if c.Root == "" {
		return c, errors.New("kind cluster: no root directory given")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return c, fmt.Errorf("kind cluster: %w", err)
	}
	c.Root = root
	if c.Name == "" {
		c.Name = randomName()
	}
	if err := cluster.CheckName(c.Name); err != nil {
		return c, fmt.Errorf("kind cluster: %w", err)
	}
	if err := cluster.CheckNodeImage(c.NodeImage.Want); err != nil {
		return c, fmt.Errorf("kind cluster: %w", err)
	}
	switch {
	case c.Nodes == 0:
		c.Nodes = defaultNodes
	case c.Nodes < 0 || c.Nodes > maxNodes:
		return c, fmt.Errorf("kind cluster: %d nodes; 1 to %d can be made", c.Nodes, maxNodes)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, nil
}

func randomName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, since Go 1.24)
	return "reckon-" + hex.EncodeToString(b[:])
}
