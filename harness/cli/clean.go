package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/cluster"
)

func newClean(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything of ours that a crash left",
		Long: `Remove processes, containers, networks, directories and half-built components that a crash left.
Clusters of a reckon that is still running, and those of "cluster up", stay
unless --all is given; with it, the copies of node images in the container
engine go too. Results and built components stay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.clean(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "running clusters too")
	return cmd
}

// abandoned is the age at which a temporary directory of a build cannot belong
// to a builder that is still at work on it.
const abandoned = 6 * time.Hour

func (a *app) clean(ctx context.Context, all bool) error {
	providers, err := a.providers()
	if err != nil {
		return usage(err)
	}
	var removed []cluster.Removed
	var clusterErr error
	for _, p := range providers {
		some, err := p.Clean(ctx, all)
		removed, clusterErr = append(removed, some...), errors.Join(clusterErr, err)
	}
	for _, r := range removed {
		of := ""
		if r.Cluster != "" {
			of = " of cluster " + r.Cluster
		}
		fmt.Fprintf(a.Out, "removed %s%s: %s\n", r.Kind, of, r.What)
	}
	b, err := a.builder(a.newStatus())
	if err != nil {
		return usage(err)
	}
	paths, buildErr := b.Clean(ctx, abandoned)
	for _, p := range paths {
		fmt.Fprintf(a.Out, "removed %s\n", p)
	}
	if err := errors.Join(clusterErr, buildErr); err != nil {
		return &exitError{ExitCleanup, &cluster.LeftError{What: "a part of it", Err: err}}
	}
	if len(removed)+len(paths) == 0 {
		fmt.Fprintln(a.Out, "nothing to remove")
	}
	return nil
}
