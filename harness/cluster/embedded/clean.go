package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// List returns the clusters below a root, oldest first.
func List(root string) ([]cluster.Summary, error) {
	states, err := readStates(root)
	var out []cluster.Summary
	for _, s := range states {
		out = append(out, cluster.Summary{
			Name: s.Name, Provider: providerName, Phase: s.Phase, Server: s.Server, Kubeconfig: s.Kubeconfig, Created: s.Created,
			Detached: s.Detached, OwnerAlive: s.Owner.Alive(), Running: s.running(), Processes: len(s.Processes), Labels: s.Labels,
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
// removing.
func Down(ctx context.Context, root, name string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := cluster.CheckName(name); err != nil {
		return fmt.Errorf("embedded cluster: %w", err)
	}
	_, err = removeCluster(ctx, root, name)
	return err
}

// Clean removes what crashes left below a root: processes whose owner is gone,
// directories of clusters that nobody will take down, halves of clusters. With
// all it removes every cluster of the root.
func Clean(ctx context.Context, root string, all bool) ([]cluster.Removed, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var unlock func()
	switch unlock, err = lockRoot(root); {
	case errors.Is(err, os.ErrNotExist):
		// No directory, but perhaps processes that ran in it.
		return killMarked(ctx, func(m process.Mark) bool { return m.Root == root && (all || !m.Owner.Alive()) })
	case err != nil:
		return nil, err
	}
	defer unlock()
	states, err := readStates(root)
	errs := []error{err}
	var removed []cluster.Removed
	for name, s := range states {
		if !all && !s.abandoned() {
			continue
		}
		gone, err := removeCluster(ctx, root, name)
		removed, errs = append(removed, gone...), append(errs, err)
	}
	gone, err := removeOrphans(ctx, root, all)
	removed, errs = append(removed, gone...), append(errs, err)
	gone, err = removeScratch(root)
	removed, errs = append(removed, gone...), append(errs, err)
	return removed, errors.Join(errs...)
}

// removeCluster kills what carries the cluster's mark and then what its state
// file names, and removes the directory.
func removeCluster(ctx context.Context, root, name string) ([]cluster.Removed, error) {
	removed, err := killMarked(ctx, func(m process.Mark) bool { return m.Root == root && m.Cluster == name })
	errs := []error{err}
	dir := clusterDir(root, name)
	s, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return removed, errors.Join(errs...)
	}
	if err == nil {
		for _, p := range s.Processes {
			if p.Identity.Alive() {
				errs = append(errs, p.Identity.Kill(ctx))
				removed = append(removed, cluster.Removed{Cluster: name, Kind: "process", What: describe(p.Identity, p.Name)})
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, err
	}
	if err := removeTree(dir); err != nil {
		return removed, err
	}
	return append(removed, cluster.Removed{Cluster: name, Kind: "directory", What: dir}), nil
}

// removeOrphans kills processes of clusters whose directory is gone.
func removeOrphans(ctx context.Context, root string, all bool) ([]cluster.Removed, error) {
	return killMarked(ctx, func(m process.Mark) bool {
		if m.Root != root || (!all && m.Owner.Alive()) {
			return false
		}
		_, err := os.Stat(layout{clusterDir(root, m.Cluster)}.state())
		return all || errors.Is(err, os.ErrNotExist)
	})
}

// killMarked kills until none is found: a process may fork while it is killed.
func killMarked(ctx context.Context, match func(process.Mark) bool) ([]cluster.Removed, error) {
	var removed []cluster.Removed
	for {
		strays, err := process.Marked(match)
		if err != nil || len(strays) == 0 {
			return removed, err
		}
		for _, stray := range strays {
			if err := stray.Identity.Kill(ctx); err != nil {
				return removed, err
			}
			removed = append(removed, cluster.Removed{Cluster: stray.Mark.Cluster, Kind: "process", What: describe(stray.Identity, stray.Mark.Name)})
		}
	}
}

func describe(i process.Identity, name string) string { return fmt.Sprintf("%s (pid %d)", name, i.PID) }

// removeScratch removes clusters that were on their way in or out when their
// process died. New ones carry the id of their maker; a maker that lives, or a
// stranger with its id, only means that they are removed next time.
func removeScratch(root string) ([]cluster.Removed, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var removed []cluster.Removed
	var errs []error
	for _, entry := range entries {
		if !isScratch(entry.Name()) || makerAlive(entry.Name()) {
			continue
		}
		dir := filepath.Join(root, entry.Name())
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, cluster.Removed{Kind: "directory", What: dir})
	}
	return removed, errors.Join(errs...)
}

func makerAlive(entry string) bool {
	rest, ok := strings.CutPrefix(entry, scratchPrefix+"new-")
	if !ok {
		return false
	}
	digits, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(digits)
	if err != nil {
		return false
	}
	identity, err := process.Of(pid)
	return err == nil && identity.Alive()
}
