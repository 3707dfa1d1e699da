// Package cli is Reckon's command line: one file a verb, flags and streams in,
// an exit code out.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/toolchain"
)

// IO are the streams and the surroundings of a command.
type IO struct {
	Out, Err io.Writer
	// Getenv looks an environment variable up.
	Getenv func(string) string
	Clock  clock.WithTicker
}

// Main runs one command and returns its exit code.
func Main(ctx context.Context, args []string, streams IO) int {
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	root := newRoot(streams)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitPass
	}
	code, ok := errors.AsType[*exitError](err)
	if !ok { // of cobra: flags and numbers of arguments
		code = &exitError{ExitUsage, fmt.Errorf("%w (usage: %s)", err, cmd.UseLine())}
	}
	if code.err != nil {
		fmt.Fprintln(streams.Err, "reckon: "+code.err.Error())
	}
	return code.code
}

// endings are the signals that end a command with its clean-up. A hang-up is
// one unless we were started to outlive it (nohup).
func endings() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}

// app is what the verbs share.
type app struct {
	IO
	quiet, verbose bool
	cache          string
	clusters       string
}

func newRoot(streams IO) *cobra.Command {
	a := &app{IO: streams}
	root := group(&cobra.Command{
		Use:   "reckon",
		Short: "Chaos and drill runner for Kubernetes controllers, with an answer key",
		Long: `Reckon brings up a real cluster with real controllers, plays a scenario, records
what really happened, and holds the recording against what a model of that
controller version predicts.`,
		SilenceErrors: true, SilenceUsage: true,
	})
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no progress on standard error")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "tell every run in full, however many there are")
	root.PersistentFlags().StringVar(&a.cache, "cache", "", "directory of built components and clusters (default: reckon in the user's cache directory)")
	root.PersistentFlags().StringVar(&a.clusters, "clusters", "", "directory of clusters (default: clusters in the cache directory)")
	root.AddCommand(
		newRun(a), newCampaigns(a), newPlan(a), newPredict(a), newJudge(a), newReport(a), newCompare(a), newGate(a), newBisect(a), newScenarios(a), newDrills(a),
		newBuild(a), newCluster(a), newDoctor(a), newClean(a), newSchema(a), newVersion(a),
	)
	return root
}

// group makes a command whose work is done by its subcommands: on its own it
// prints its help, and an unknown subcommand is an error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return usage(fmt.Errorf("unknown command %q for %q%s; there are %s", args[0], cmd.CommandPath(), nearest.Hint(args[0], names), strings.Join(names, ", ")))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// cacheDir is the directory of everything that outlives a run.
func (a *app) cacheDir() (string, error) {
	if a.cache != "" {
		return filepath.Abs(a.cache)
	}
	return toolchain.DefaultCache()
}

// clustersDir holds the clusters, each in a directory of its own.
func (a *app) clustersDir() (string, error) {
	if a.clusters != "" {
		return filepath.Abs(a.clusters)
	}
	cache, err := a.cacheDir()
	return filepath.Join(cache, "clusters"), err
}
