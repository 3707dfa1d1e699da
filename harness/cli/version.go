package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/toolchain"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of reckon, Go and every pinned component",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(tw, "reckon\t%s\ngo\t%s\n", ownVersion(), runtime.Version())
			for _, c := range toolchain.Catalogue() {
				fmt.Fprintf(tw, "%s\t%s\n", c.Name, c.Default)
			}
			return tw.Flush()
		},
	}
}

// revision is set by the linker (see Makefile), where Go does not stamp one.
var revision string

// ownVersion is the module's version, or the revision that was built.
func ownVersion() string {
	if revision != "" {
		return revision
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version
}
