package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/plan"
)

// clusters are those that runs share: one for each provider, set of versions
// and number of nodes. A cluster comes up for the first run that needs it and
// stays for the next ones until close.
type clusters struct {
	mu     sync.Mutex
	shared map[string]*sharedCluster
}

// sharedCluster is a cluster in use by any number of runs, or about to be.
type sharedCluster struct {
	turn    chan struct{} // holds a token while nobody brings it up or down
	cluster cluster.Cluster
}

func sharedKey(cell plan.Cell) string {
	parts := []string{cell.Provider, fmt.Sprint(cell.Nodes)}
	for _, component := range slices.Sorted(maps.Keys(cell.Versions)) {
		parts = append(parts, component+"="+cell.Versions[component])
	}
	return strings.Join(parts, ",")
}

// get returns the cluster of the key, which it brings up if there is none, or
// if a part of it ended by itself. Who waits for another run's cluster goes on
// waiting when that run is aborted, and brings it up itself.
func (c *clusters) get(ctx context.Context, key string, up func(context.Context) (cluster.Cluster, error)) (cluster.Cluster, error) {
	s := c.of(key)
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

func (c *clusters) of(key string) *sharedCluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared == nil {
		c.shared = map[string]*sharedCluster{}
	}
	if c.shared[key] == nil {
		c.shared[key] = &sharedCluster{turn: make(chan struct{}, 1)}
		c.shared[key].turn <- struct{}{}
	}
	return c.shared[key]
}

// close takes the clusters down. No run may be under way.
func (c *clusters) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for key, s := range c.shared {
		if s.cluster == nil {
			continue
		}
		if err := s.cluster.Down(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(c.shared, key)
	}
	return errors.Join(errs...)
}
