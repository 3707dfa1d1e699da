package cli

import (
	"os"

	"golang.org/x/term"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/toolchain"
)

func (a *app) builder(st *status) (*toolchain.Builder, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return nil, err
	}
	return &toolchain.Builder{Cache: cache, Progress: st, Now: a.Clock.Now}, nil
}

func (a *app) engine(results string, keep bool, st *status) (*engine.Engine, error) {
	builder, err := a.builder(st)
	if err != nil {
		return nil, err
	}
	clusters, err := a.clustersDir()
	if err != nil {
		return nil, err
	}
	kinds, err := a.kindDir()
	if err != nil {
		return nil, err
	}
	return &engine.Engine{
		Results: results, Builder: builder, Clock: a.Clock, Keep: keep, Reckon: ownVersion(), Progress: st.run,
		Provider: func(cell plan.Cell, parts engine.Parts) (cluster.Provider, error) {
			if cell.Provider == cluster.Kind {
				return engine.Kind(kinds, builder, cell.Versions[scenario.Kubernetes], cell.NodeImage, func(step string) { st.line("%s", step) }), nil
			}
			return engine.Embedded(clusters, parts)
		},
	}, nil
}

// textOptions: colours and width of a terminal, neither without one.
func (a *app) textOptions() report.TextOptions {
	f, ok := a.Out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return report.TextOptions{Verbose: a.verbose}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return report.TextOptions{Color: a.Getenv("NO_COLOR") == "", Width: width, Verbose: a.verbose}
}
