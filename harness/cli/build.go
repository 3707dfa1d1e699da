package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/toolchain"
)

func newBuild(a *app) *cobra.Command {
	var list bool
	var into string
	cmd := &cobra.Command{
		Use:   "build [COMPONENT[@VERSION|=DIRECTORY]...]",
		Short: "Build and cache components (default: all that the default drill needs)",
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.buildList(cmd.Context())
			}
			return a.build(cmd.Context(), args, into)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "show what is cached and what can be had")
	cmd.Flags().StringVar(&into, "into", "", "also link the programs into this directory")
	return cmd
}

// defaultComponents are what the default drill needs.
var defaultComponents = []string{"etcd", "kwok", "kubernetes", "argo-rollouts"}

func (a *app) build(ctx context.Context, args []string, into string) error {
	if len(args) == 0 {
		args = defaultComponents
	}
	var requests []toolchain.Request
	for _, arg := range args {
		req, err := toolchain.ParseRequest(arg)
		if err != nil {
			return usage(err)
		}
		requests = append(requests, req)
	}
	b, err := a.builder(a.newStatus())
	if err != nil {
		return usage(err)
	}
	for _, req := range requests {
		artifact, err := b.Build(ctx, req)
		if err != nil {
			return buildError(ctx, err)
		}
		for _, img := range artifact.Images {
			fmt.Fprintf(a.Out, "%s %s  %s  %s@%s\n", artifact.Component, artifact.Version, img.Path, img.Ref, img.Digest)
		}
		for _, bin := range artifact.Binaries {
			fmt.Fprintf(a.Out, "%s %s  %s  sha256:%s\n", artifact.Component, artifact.Version, bin.Path, bin.SHA256)
			if err := link(bin.Path, into); err != nil {
				return usage(err)
			}
		}
	}
	return nil
}

// link puts a link to the program into dir, in the place of an older one.
func link(path, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(path, to)
}

func (a *app) buildList(ctx context.Context) error {
	b, err := a.builder(a.newStatus())
	if err != nil {
		return usage(err)
	}
	entries, err := b.List(ctx)
	if err != nil {
		return usage(err)
	}
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "COMPONENT\tDEFAULT\tCACHED\tCAN BE HAD")
	for _, e := range entries {
		cached := cachedVersions(e.Cached)
		if len(cached) == 0 {
			cached = []string{"-"}
		}
		available := strings.Join(e.Available, " ")
		if e.Offline != nil {
			available += " (the registry did not answer: versions known to build)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", e.Component, e.Default, strings.Join(cached, ", "), available)
	}
	return tw.Flush()
}

// cachedVersions names each version once, with the size of all its entries.
func cachedVersions(artifacts []toolchain.Artifact) []string {
	var versions []string
	sizes := map[string]int64{}
	for _, a := range artifacts {
		if _, known := sizes[a.Version]; !known {
			versions = append(versions, a.Version)
		}
		sizes[a.Version] += a.Size
	}
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = fmt.Sprintf("%s (%d MB)", v, sizes[v]>>20)
	}
	return out
}
