package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

func newCluster(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "cluster", Short: "A cluster to play with"})
	cmd.AddCommand(newClusterUp(a), newClusterDown(a), newClusterList(a))
	return cmd
}

// upFlags are what a cluster may be asked to be.
type upFlags struct {
	name, provider, version, nodeImage string
	nodes, workers                     int
}

func newClusterUp(a *app) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up and print its kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed); err != nil {
				return usage(err)
			}
			return a.clusterUp(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.name, "name", "", "name (default: a random one)")
	cmd.Flags().StringVar(&f.provider, "provider", "embedded", "embedded (processes, simulated nodes) or kind (containers, nothing simulated)")
	cmd.Flags().StringVar(&f.version, "kubernetes", "", "Kubernetes version")
	cmd.Flags().IntVar(&f.nodes, "nodes", 0, "embedded: simulated nodes (default 2)")
	cmd.Flags().IntVar(&f.workers, "workers", 0, "kind: nodes beside the control plane's")
	cmd.Flags().StringVar(&f.nodeImage, "node-image", "auto", "kind: auto (kind's own if the engine has or can pull it, else build), build, or a reference")
	return cmd
}

// check refuses flags of the other provider.
func (f upFlags) check(changed func(string) bool) error {
	foreign := map[string][]string{"embedded": {"workers", "node-image"}, "kind": {"nodes"}}
	flags, ok := foreign[f.provider]
	if !ok {
		return fmt.Errorf("unknown provider %q%s; there are embedded, kind", f.provider, nearest.Hint(f.provider, []string{"embedded", "kind"}))
	}
	for _, name := range flags {
		if changed(name) {
			return fmt.Errorf("--%s means nothing to the provider %s", name, f.provider)
		}
	}
	if f.name != "" {
		if err := cluster.CheckName(f.name); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	if f.nodes < 0 || f.nodes > embedded.MaxNodes {
		return fmt.Errorf("--nodes: %d is no number of simulated nodes, expected 1 to %d", f.nodes, embedded.MaxNodes)
	}
	if err := cluster.CheckWorkers(f.workers); err != nil {
		return fmt.Errorf("--workers: %w", err)
	}
	if err := cluster.CheckNodeImage(f.nodeImage); err != nil {
		return fmt.Errorf("--node-image: %w", err)
	}
	return f.checkVersion()
}

func (f upFlags) checkVersion() error {
	if f.version == "" {
		return nil
	}
	err := drills.CheckVersion(f.version)
	if dir, _ := plan.SplitVersion(f.version); err == nil && dir != "" && f.provider == cluster.Kind {
		err = plan.ErrKindDirectory
	}
	if err != nil {
		return fmt.Errorf("--kubernetes %s: %w", f.version, err)
	}
	return nil
}

func (a *app) clusterUp(ctx context.Context, f upFlags) error {
	st := a.newStatus()
	opts := cluster.Options{Name: f.name, Nodes: f.nodes, Detached: true}
	newProvider := a.embeddedProvider
	if f.provider == "kind" {
		opts.Nodes = f.workers + 1
		newProvider = a.kindProvider
	}
	provider, err := newProvider(ctx, f, st)
	if err != nil {
		return err
	}
	c, err := provider.Up(ctx, opts)
	if errors.Is(err, kind.ErrNoImage) && ctx.Err() == nil {
		return usage(err)
	}
	if err != nil {
		return &exitError{worst(codesOfFailure(ctx, err)), err}
	}
	st.line("cluster %s is up: %s", c.Name(), c.Fidelity())
	fmt.Fprintf(a.Out, "export KUBECONFIG=%s\n", c.Kubeconfig())
	return nil
}

func (a *app) embeddedProvider(ctx context.Context, f upFlags, st *status) (cluster.Provider, error) {
	root, err := a.clustersDir()
	if err != nil {
		return nil, usage(err)
	}
	e, err := a.engine("", false, st)
	if err != nil {
		return nil, usage(err)
	}
	parts, err := e.Build(ctx, plan.Cell{Versions: map[string]string{scenario.Kubernetes: f.version}})
	if err != nil {
		return nil, buildError(ctx, err)
	}
	provider, err := engine.Embedded(root, parts)
	if err != nil {
		return nil, usage(err)
	}
	provider.Config.Progress = func(step string) { st.line("%s", step) }
	return provider, nil
}

func newClusterDown(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Remove a cluster",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.clusterDown(cmd.Context(), args[0]) },
	}
}

func (a *app) clusterDown(ctx context.Context, name string) error {
	providers, err := a.providers()
	if err != nil {
		return usage(err)
	}
	for _, p := range providers {
		clusters, err := p.List(ctx)
		if err != nil {
			return usage(err)
		}
		if !slices.ContainsFunc(clusters, func(c cluster.Summary) bool { return c.Name == name }) {
			continue
		}
		if err := p.Down(ctx, name); err != nil {
			return &exitError{ExitCleanup, &cluster.LeftError{What: "cluster " + name, Remedy: "reckon cluster down " + name, Err: err}}
		}
		return nil
	}
	return usage(fmt.Errorf("%w: %q; see reckon cluster list", cluster.ErrNotFound, name))
}

func newClusterList(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List clusters",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return usage(err)
			}
			return a.clusterList(cmd.Context(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func (a *app) clusterList(ctx context.Context, output string) error {
	providers, err := a.providers()
	if err != nil {
		return usage(err)
	}
	var clusters []cluster.Summary
	for _, p := range providers {
		some, err := p.List(ctx)
		if err != nil {
			return usage(err)
		}
		clusters = append(clusters, some...)
	}
	if output == "json" {
		return encode(a.Out, clusters)
	}
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NAME\tPROVIDER\tPHASE\tRUNNING\tCREATED\tOWNER\tKUBECONFIG")
	for _, c := range clusters {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\n", c.Name, c.Provider, c.Phase, c.Running, c.Processes, c.Created.Format("2006-01-02 15:04:05"), owner(c), c.Kubeconfig)
	}
	return tw.Flush()
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
