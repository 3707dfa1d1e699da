package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/plan"
)

// clusters are those that runs share. A cluster comes up for the first run that
// needs it and stays for the next ones until close.
type clusters struct {
	mu     sync.Mutex
	shared []*sharedCluster
}

// sharedCluster is a cluster in use by any number of runs, or about to be.
type sharedCluster struct {
	of      plan.Cell     // that it came up for
	turn    chan struct{} // holds a token while nobody brings it up or down
	cluster cluster.Cluster
}

// serves says whether a cell finds there what it needs: the same cluster, with
// the components that it has at their versions. More do not disturb it.
func (s *sharedCluster) serves(cell plan.Cell) bool {
	if s.of.Provider != cell.Provider || s.of.NodeImage != cell.NodeImage || s.of.Nodes != cell.Nodes {
		return false
	}
	for component, version := range cell.Versions {
		if s.of.Versions[component] != version {
			return false
		}
	}
	return len(s.of.Versions) == len(cell.Versions) || cluster.Offered(cell.Provider).Has(cluster.Kubelet)
}

// get returns a cluster that serves the cell, which it brings up if there is none, or
// if a part of it ended by itself. Who waits for another run's cluster goes on
// waiting when that run is aborted, and brings it up itself.
func (c *clusters) get(ctx context.Context, cell plan.Cell, up func(context.Context) (cluster.Cluster, error)) (cluster.Cluster, error) {
	s := c.serving(cell)
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.cluster != nil && ended(s.cluster) {
		if err := s.cluster.Down(context.WithoutCancel(ctx)); err != nil {
			return nil, &CleanupError{err}
		}
		s.cluster = nil
	}
	if s.cluster == nil {
		var err error
		if s.cluster, err = up(ctx); err != nil {
			s.cluster = nil
			return nil, err
		}
	}
	return s.cluster, nil
}

func ended(c cluster.Cluster) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func (c *clusters) serving(cell plan.Cell) *sharedCluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shared {
		if s.serves(cell) {
			return s
		}
	}
	s := &sharedCluster{of: cell, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	c.shared = append(c.shared, s)
	return s
}

// close takes the clusters down. No run may be under way.
func (c *clusters) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	c.shared = slices.DeleteFunc(c.shared, func(s *sharedCluster) bool {
		if s.cluster == nil {
			return true
		}
		err := s.cluster.Down(ctx)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}
