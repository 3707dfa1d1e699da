package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/plan"
)

// clusters are those that runs share. A cluster comes up for the first run that
// needs it, and goes when no run that is still to come can use it: two at a time
// are too much for a small machine.
type clusters struct {
	mu     sync.Mutex
	shared []*sharedCluster
	// ahead are the runs that were announced and are not over.
	ahead     []expected
	announced bool
}

// expected is a cell with how many of its runs are not over.
type expected struct {
	cell plan.Cell
	runs int
}

// sharedCluster is a cluster in use by any number of runs, or about to be.
type sharedCluster struct {
	of      plan.Cell     // that it came up for
	users   int           // runs that have it or wait for it
	retired bool          // no further run gets it
	turn    chan struct{} // holds a token while nobody brings it up or down
	cluster cluster.Cluster
}

// expect announces runs: a cluster that none of them can use any more is removed
// at once. Without it clusters go when another has to come up, or at the end.
func (c *clusters) expect(cells []plan.Cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announced = true
	for _, cell := range cells {
		c.ahead = append(c.ahead, expected{cell, cell.Repeat})
	}
}

// lease is a run's hold on a shared cluster.
type lease struct {
	cluster.Cluster
	of *sharedCluster
}

// get returns a cluster that serves the cell, which it brings up if there is none, or
// if a part of it ended by itself. Who waits for another run's cluster goes on
// waiting when that run is aborted, and brings it up itself.
func (c *clusters) get(ctx context.Context, cell plan.Cell, up func(context.Context) (cluster.Cluster, error)) (*lease, error) {
	s := c.serving(cell)
	got, err := c.running(ctx, s, up)
	if err != nil {
		c.release(s, false)
		return nil, err
	}
	return &lease{got, s}, nil
}

func (c *clusters) running(ctx context.Context, s *sharedCluster, up func(context.Context) (cluster.Cluster, error)) (cluster.Cluster, error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.cluster != nil && ended(s.cluster) {
		if err := s.cluster.Down(context.WithoutCancel(ctx)); err != nil {
			// Without the type: whether it is left in the end is told by close.
			return nil, fmt.Errorf("the cluster ended by itself and cannot be removed: %v", err)
		}
		s.cluster = nil
	}
	if s.cluster == nil {
		_ = c.sweep(ctx, func(idle *sharedCluster) bool { return !c.needed(idle) }) // close tells what is left
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

// serving is the cluster for a cell, which counts the caller as a user.
func (c *clusters) serving(cell plan.Cell) *sharedCluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shared {
		if !s.retired && s.of.Serves(cell) {
			s.users++
			return s
		}
	}
	s := &sharedCluster{of: cell, users: 1, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	c.shared = append(c.shared, s)
	return s
}

func (c *clusters) release(s *sharedCluster, retire bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.users--
	s.retired = s.retired || retire
}

// over says that a run of the cell has come to its end, and removes the clusters
// that nothing needs any more. What cannot be removed is left to close.
func (c *clusters) over(ctx context.Context, cell plan.Cell, say func(format string, args ...any)) {
	c.mu.Lock()
	if i := slices.IndexFunc(c.ahead, func(e expected) bool { return e.cell.Name == cell.Name }); i >= 0 {
		if c.ahead[i].runs--; c.ahead[i].runs <= 0 {
			c.ahead = slices.Delete(c.ahead, i, i+1)
		}
	}
	announced := c.announced
	c.mu.Unlock()
	err := c.sweep(ctx, func(s *sharedCluster) bool {
		gone := s.retired || announced && !c.needed(s)
		if gone && s.cluster != nil {
			say("removing the cluster")
		}
		return gone
	})
	if err != nil {
		say("will try again: %v", err)
	}
}

// needed says whether a run that was announced can use the cluster.
func (c *clusters) needed(s *sharedCluster) bool {
	return !s.retired && slices.ContainsFunc(c.ahead, func(e expected) bool { return s.of.Serves(e.cell) })
}

// sweep removes clusters that no run uses and that are to go, which is asked under
// the lock. One that cannot be removed is kept, without further use.
func (c *clusters) sweep(ctx context.Context, goes func(*sharedCluster) bool) error {
	c.mu.Lock()
	var going []*sharedCluster
	c.shared = slices.DeleteFunc(c.shared, func(s *sharedCluster) bool {
		if s.users > 0 || !goes(s) {
			return false
		}
		going = append(going, s)
		return true
	})
	c.mu.Unlock()
	var errs []error
	for _, s := range going {
		if s.cluster == nil {
			continue
		}
		if err := down(ctx, s.cluster); err != nil {
			errs, s.retired = append(errs, err), true
			c.mu.Lock()
			c.shared = append(c.shared, s)
			c.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// close takes all clusters down. No run may be under way.
func (c *clusters) close(ctx context.Context) error {
	return c.sweep(ctx, func(*sharedCluster) bool { return true })
}

// down removes a cluster. The error says what is left.
func down(ctx context.Context, c cluster.Cluster) error {
	return cluster.Left("cluster "+c.Name(), c.Down(ctx))
}
