package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// marked are the nodes whose mark matches. Nodes without a mark are never ours.
func (e engine) marked(ctx context.Context, match func(mark string) bool) ([]container, error) {
	all, err := e.nodes(ctx)
	return slices.DeleteFunc(all, func(n container) bool { return n.Mark == "" || !match(n.Mark) }), err
}

// twice repeats a removal that failed, once. A signal to the whole process group (a
// terminal's interrupt, GNU timeout's) may hit a command of the engine between its
// fork and its move into a group of its own, and kill it. What it asked for may be
// under way: hence the pause. A second failure has another reason, and is told.
func twice(ctx context.Context, remove func(context.Context) ([]cluster.Removed, error)) ([]cluster.Removed, error) {
	removed, first := remove(ctx)
	if first == nil {
		return removed, nil
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return removed, first
	}
	more, again := remove(ctx)
	if again != nil {
		again = fmt.Errorf("%w (tried twice; the first time: %v)", again, first)
	}
	return append(removed, more...), again
}

// settle is how long a node may take to appear that was asked for by a command
// that was killed: the engine finishes what it has begun.
const settle = time.Second

// removeCluster removes the nodes with the cluster's mark, its directory, and the
// network if that was the last cluster of the root.
func removeCluster(ctx context.Context, e engine, root, name string, interrupted bool) ([]cluster.Removed, error) {
	return twice(ctx, func(ctx context.Context) ([]cluster.Removed, error) {
		return removeClusterOnce(ctx, e, root, name, interrupted)
	})
}

func removeClusterOnce(ctx context.Context, e engine, root, name string, interrupted bool) ([]cluster.Removed, error) {
	lay := layoutOf(root, name)
	removed, err := removeMarked(ctx, e, root, func(mark string) bool { return mark == lay.mark() })
	if err == nil && interrupted {
		select {
		case <-time.After(settle):
		case <-ctx.Done():
		}
		var late []cluster.Removed
		late, err = removeMarked(ctx, e, root, func(mark string) bool { return mark == lay.mark() })
		removed = append(removed, late...)
	}
	if err != nil {
		return removed, err
	}
	if _, err := os.Stat(lay.dir); err == nil {
		if err := os.RemoveAll(lay.dir); err != nil {
			return removed, err
		}
		removed = append(removed, cluster.Removed{Cluster: name, Kind: "directory", What: lay.dir})
	}
	gone, err := removeNetwork(ctx, e, root)
	return append(removed, gone...), err
}

// removeMarked removes until none is found.
func removeMarked(ctx context.Context, e engine, root string, match func(mark string) bool) ([]cluster.Removed, error) {
	var removed []cluster.Removed
	for {
		nodes, err := e.marked(ctx, match)
		if err != nil || len(nodes) == 0 {
			return removed, err
		}
		if err := e.remove(ctx, nodes); err != nil {
			return removed, err
		}
		for _, n := range nodes {
			name, _ := markedName(root, n.Mark)
			removed = append(removed, cluster.Removed{Cluster: name, Kind: "container", What: n.Name})
		}
	}
}

func removeNetwork(ctx context.Context, e engine, root string) ([]cluster.Removed, error) {
	dropped, err := e.dropNetwork(ctx, root)
	if err != nil || !dropped {
		return nil, err
	}
	return []cluster.Removed{{Kind: "network", What: networkName(root)}}, nil
}

// List returns the clusters below a root, oldest first.
func List(ctx context.Context, root string) ([]cluster.Summary, error) {
	states, err := readStates(root)
	if len(states) == 0 {
		return nil, err
	}
	running := map[string]int{}
	e, engineErr := findEngine(ctx)
	if ctx.Err() != nil {
		return nil, errors.Join(err, engineErr)
	}
	if engineErr == nil {
		nodes, nodesErr := e.nodes(ctx)
		err = errors.Join(err, nodesErr)
		for _, n := range nodes {
			if name, ours := markedName(root, n.Mark); ours && n.Running {
				running[name]++
			}
		}
	}
	var out []cluster.Summary
	for _, s := range states {
		out = append(out, cluster.Summary{
			Name: s.Name, Provider: providerName, Phase: s.Phase, Server: s.Server, Kubeconfig: s.Kubeconfig, Created: s.Created,
			Detached: s.Detached, OwnerAlive: s.Owner.Alive(), Running: running[s.Name], Processes: s.Nodes, Labels: s.Labels,
		})
	}
	slices.SortFunc(out, func(a, b cluster.Summary) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, err
}

// Down removes a cluster that any process made. What is not there needs no
// removing, and what is not ours is not touched.
func Down(ctx context.Context, root, name string) error {
	if err := cluster.CheckName(name); err != nil {
		return fmt.Errorf("kind cluster: %w", err)
	}
	e, err := findEngine(ctx)
	if err != nil {
		return err
	}
	_, err = removeCluster(ctx, e, root, name, false)
	return err
}

// Clean removes what crashes left: nodes and directories of clusters that nobody
// will take down, probes, logs, the network. With all it removes every cluster of
// the root, and node images. Where nothing was ever made, no engine is asked for.
func Clean(ctx context.Context, root string, all bool) ([]cluster.Removed, error) {
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	states, err := readStates(root)
	errs := []error{err}
	e, err := findEngine(ctx)
	if err != nil {
		if len(states) == 0 {
			return nil, errors.Join(errs...)
		}
		return nil, errors.Join(append(errs, fmt.Errorf("clusters in %s cannot be removed: %w", root, err))...)
	}
	keep := map[string]bool{}
	for name, s := range states {
		keep[name] = !all && !s.abandoned()
	}
	for name, s := range states {
		if !keep[name] && s.Phase == phaseCreating {
			errs = append(errs, awaitCommands(ctx, layoutOf(root, name)))
		}
	}
	removed, err := twice(ctx, func(ctx context.Context) ([]cluster.Removed, error) {
		return removeMarked(ctx, e, root, func(mark string) bool {
			name, ours := markedName(root, mark)
			return ours && !keep[name]
		})
	})
	errs = append(errs, err)
	for name, s := range states {
		if err == nil && !keep[name] {
			gone, err := removeCluster(ctx, e, root, name, s.Phase == phaseCreating)
			removed, errs = append(removed, gone...), append(errs, err)
		}
	}
	steps := []func(context.Context, engine, string) ([]cluster.Removed, error){removeProbes, removeScratch, removeNetwork}
	if all {
		steps = append(steps, removeImages)
	}
	for _, step := range steps {
		gone, err := twice(ctx, func(ctx context.Context) ([]cluster.Removed, error) { return step(ctx, e, root) })
		removed, errs = append(removed, gone...), append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// awaitCommands waits for the engine's commands that make nodes of a cluster: they
// outlive whoever was killed while they ran, and the node appears after that.
func awaitCommands(ctx context.Context, lay layout) error {
	deadline := time.After(limit("run"))
	for {
		running, err := process.Mentioning(lay.mark())
		if len(running) == 0 || errors.Is(err, process.ErrUnsupported) {
			return nil
		}
		select {
		case <-time.After(look):
		case <-deadline:
			return fmt.Errorf("process %d has been making a node of a cluster that nobody wants for %s: does the container engine hang?", running[0].PID, limit("run"))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// removeProbes removes containers that looked at the machine and were left.
func removeProbes(ctx context.Context, e engine, root string) ([]cluster.Removed, error) {
	out, err := e.run(ctx, "ps", "--all", "--quiet", "--filter", "label="+probeLabel+"="+root)
	if err != nil || out == "" {
		return nil, err
	}
	var removed []cluster.Removed
	for id := range strings.FieldsSeq(out) {
		if err := e.remove(ctx, []container{{ID: id}}); err != nil {
			return removed, err
		}
		removed = append(removed, cluster.Removed{Kind: "container", What: id})
	}
	return removed, nil
}

// removeImages removes the engine's copies of node images that were built here;
// the cache keeps them. One that somebody uses stays.
func removeImages(ctx context.Context, e engine, _ string) ([]cluster.Removed, error) {
	out, err := e.run(ctx, "images", "--quiet", "--no-trunc", "--filter", "label="+ImageLabel)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(out)
	slices.Sort(ids)
	var removed []cluster.Removed
	for _, id := range slices.Compact(ids) {
		if _, err := e.run(ctx, "rmi", id); err == nil {
			removed = append(removed, cluster.Removed{Kind: "image", What: id})
		} else if ctx.Err() != nil {
			return removed, err
		}
	}
	return removed, nil
}

// scratchAge is the age at which a directory on its way to be a cluster, which
// takes milliseconds, will never be one.
const scratchAge = time.Minute

// removeScratch removes halves of clusters and the logs of those that failed.
func removeScratch(_ context.Context, _ engine, root string) ([]cluster.Removed, error) {
	dirs, err := filepath.Glob(filepath.Join(root, ".new-*"))
	if err != nil {
		return nil, err
	}
	logs, err := filepath.Glob(filepath.Join(root, ".logs", "*"))
	if err != nil {
		return nil, err
	}
	var removed []cluster.Removed
	for _, dir := range append(dirs, logs...) {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < scratchAge && strings.Contains(dir, ".new-") {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return removed, err
		}
		removed = append(removed, cluster.Removed{Kind: "directory", What: dir})
	}
	return removed, nil
}
