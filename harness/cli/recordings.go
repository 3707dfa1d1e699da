package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/toolchain"
)

// source names recordings: a run directory, or a directory of such (a campaign's
// results, baselines), of which some are chosen: PATH[@KEY=VALUE[,KEY=VALUE...]].
type source struct {
	path  string
	picks []choice
}

// choice is one KEY=VALUE of a source.
type choice struct{ key, value string }

// chosenBy are the keys of a source beside the names of components.
var chosenBy = []string{"drill", "scenario", "repetition"}

func parseSource(arg string) (source, error) {
	path, list, ok := arg, "", false
	if i := strings.LastIndex(arg, "@"); i >= 0 && strings.Contains(arg[i:], "=") {
		path, list, ok = arg[:i], arg[i+1:], true
	}
	out := source{path: path}
	if !ok {
		return out, nil
	}
	keys := slices.Clone(chosenBy)
	for _, c := range toolchain.Catalogue() {
		keys = append(keys, c.Name)
	}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || value == "" || !slices.Contains(keys, key) {
			return out, fmt.Errorf("%s: %q is no choice%s; expected KEY=VALUE with a key of %s, or a component", arg, pair, nearest.Hint(key, keys), strings.Join(chosenBy, ", "))
		}
		if _, err := strconv.Atoi(value); key == "repetition" && err != nil && value != "odd" && value != "even" {
			return out, fmt.Errorf("%s: repetition %q is none, expected a number, odd or even", arg, value)
		}
		out.picks = append(out.picks, choice{key, value})
	}
	return out, nil
}

// takes says whether a recording is among those that are meant.
func (s source) takes(h recording.Header) bool {
	return !slices.ContainsFunc(s.picks, func(c choice) bool { return !c.takes(h) })
}

func (c choice) takes(h recording.Header) bool {
	switch c.key {
	case "drill":
		return h.Drill == c.value
	case "scenario":
		return h.Scenario == c.value
	case "repetition":
		return strconv.Itoa(h.Repetition) == c.value || c.value == "odd" && h.Repetition%2 == 1 || c.value == "even" && h.Repetition%2 == 0
	}
	return slices.ContainsFunc(h.Components, func(comp recording.Component) bool { return comp.Name == c.key && comp.Version == c.value })
}

// dirs are the run directories below the path: itself, those in it, or those in its
// folder runs.
func (s source) dirs() ([]engine.RunDir, error) {
	if info, err := os.Stat(s.path); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory of recordings", s.path)
	}
	if _, err := os.Stat(filepath.Join(s.path, engine.RecordingFile)); err == nil {
		return []engine.RunDir{engine.RunDir(s.path)}, nil
	}
	for _, below := range []string{"", "runs"} {
		var out []engine.RunDir
		entries, err := os.ReadDir(filepath.Join(s.path, below))
		if err != nil {
			continue
		}
		for _, e := range entries {
			dir := engine.RunDir(filepath.Join(s.path, below, e.Name()))
			if _, err := os.Stat(dir.File(engine.RecordingFile)); err == nil && e.IsDir() { // latest is a link
				out = append(out, dir)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("no recording in %s", s.path)
}

// load judges the recordings that a source names. The error says what there is
// where none is as it was wanted.
func (s source) load(ctx context.Context) ([]report.Run, error) {
	all, err := s.dirs()
	if err != nil {
		return nil, usage(err)
	}
	seen := make([]recording.Header, len(all))
	err = eachOf(ctx, len(all), func(i int) (err error) {
		seen[i], err = engine.ReadHeader(all[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var dirs []engine.RunDir
	for i, dir := range all {
		if s.takes(seen[i]) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, usage(fmt.Errorf("none of the %d recordings in %s has %s", len(all), s.path, s.misses(seen)))
	}
	out := make([]report.Run, len(dirs))
	return out, eachOf(ctx, len(dirs), func(i int) (err error) {
		out[i], err = engine.Judge(dirs[i], engine.Prediction)
		return err
	})
}

// eachOf reads n recordings, as many at a time as there are processors. What cannot be
// read is refused.
func eachOf(ctx context.Context, n int, read func(i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return read(i)
		})
	}
	if err := g.Wait(); err != nil {
		return &exitError{ExitInvalid, fmt.Errorf("refused: %w", err)}
	}
	return nil
}

// misses names the first choice that no recording fits, with what there is instead.
func (s source) misses(hs []recording.Header) string {
	for _, c := range s.picks {
		if slices.ContainsFunc(hs, c.takes) {
			continue
		}
		var there []string
		for _, h := range hs {
			there = append(there, c.of(h)...)
		}
		slices.Sort(there)
		return fmt.Sprintf("%s %s; there are %s", c.key, c.value, strings.Join(slices.Compact(there), ", "))
	}
	var all []string
	for _, c := range s.picks {
		all = append(all, c.key+" "+c.value)
	}
	return strings.Join(all, " and ")
}

// of is what a recording has for the key.
func (c choice) of(h recording.Header) []string {
	switch c.key {
	case "drill":
		return []string{h.Drill}
	case "scenario":
		return []string{h.Scenario}
	case "repetition":
		return []string{strconv.Itoa(h.Repetition)}
	}
	for _, comp := range h.Components {
		if comp.Name == c.key {
			return []string{comp.Version}
		}
	}
	return nil
}

// comparables makes runs ready to be compared.
func comparables(runs []report.Run) ([]compare.Run, error) {
	out := make([]compare.Run, len(runs))
	for i, r := range runs {
		var err error
		if out[i], err = engine.Comparable(r); err != nil {
			return nil, &exitError{ExitInvalid, err}
		}
	}
	return out, nil
}
