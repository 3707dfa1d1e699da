package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

func newCluster(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "cluster", Short: "A cluster to play with"})
	cmd.AddCommand(newClusterUp(a), newClusterDown(a), newClusterList(a))
	return cmd
}

func newClusterUp(a *app) *cobra.Command {
	var name, version string
	var nodes int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring an embedded cluster up and print its kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.clusterUp(cmd.Context(), cluster.Options{Name: name, Nodes: nodes, Detached: true}, version)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name (default: a random one)")
	cmd.Flags().StringVar(&version, "kubernetes", "", "Kubernetes version")
	cmd.Flags().IntVar(&nodes, "nodes", 0, "simulated nodes (default 2)")
	return cmd
}

func (a *app) clusterUp(ctx context.Context, opts cluster.Options, version string) error {
	st := a.newStatus()
	root, err := a.clustersDir()
	if err != nil {
		return usage(err)
	}
	e, err := a.engine("", false, st)
	if err != nil {
		return usage(err)
	}
	parts, err := e.Build(ctx, plan.Cell{Versions: map[string]string{scenario.Kubernetes: version}})
	if err != nil {
		return buildError(ctx, err)
	}
	provider, err := engine.Embedded(root, parts)
	if err != nil {
		return usage(err)
	}
	provider.Config.Progress = func(step string) { st.line("%s", step) }
	c, err := provider.Up(ctx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return &exitError{ExitAborted, err}
		}
		return &exitError{ExitInvalid, err}
	}
	st.line("cluster %s is up: %s", c.Name(), c.Fidelity())
	fmt.Fprintf(a.Out, "export KUBECONFIG=%s\n", c.Kubeconfig())
	return nil
}

func newClusterDown(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Remove a cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.clustersDir()
			if err != nil {
				return usage(err)
			}
			clusters, err := embedded.List(root)
			if err != nil {
				return usage(err)
			}
			for _, c := range clusters {
				if c.Name == args[0] {
					if err := embedded.Down(cmd.Context(), root, c.Name); err != nil {
						return &exitError{ExitCleanup, &engine.CleanupError{Err: err}}
					}
					return nil
				}
			}
			return usage(fmt.Errorf("%w: %q; see reckon cluster list", cluster.ErrNotFound, args[0]))
		},
	}
}

func newClusterList(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List clusters",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return usage(err)
			}
			root, err := a.clustersDir()
			if err != nil {
				return usage(err)
			}
			clusters, err := embedded.List(root)
			if err != nil {
				return usage(err)
			}
			if output == "json" {
				return encode(a.Out, clusters)
			}
			tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "NAME\tPHASE\tPROCESSES\tCREATED\tOWNER\tKUBECONFIG")
			for _, c := range clusters {
				fmt.Fprintf(tw, "%s\t%s\t%d of %d\t%s\t%s\t%s\n", c.Name, c.Phase, c.Running, c.Processes, c.Created.Format("2006-01-02 15:04:05"), owner(c), c.Kubeconfig)
			}
			return tw.Flush()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func owner(c cluster.Summary) string {
	switch {
	case c.Detached:
		return "nobody (cluster up)"
	case c.OwnerAlive:
		return "a running reckon"
	}
	return "gone (reckon clean removes it)"
}
