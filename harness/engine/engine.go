// Package engine runs cells: it brings a cluster up, installs and starts the
// components, records, plays the script, stops, takes everything down again
// and judges what was recorded. It is plain Go and knows no test framework.
package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/toolchain"
)

// Engine runs cells with everything that they need given to it.
type Engine struct {
	// Results is the directory that holds runs/.
	Results string
	// Campaign is the id of the campaign that the runs belong to, if they do.
	Campaign string
	Builder  *toolchain.Builder
	// Provider makes the provider of a cell's cluster; see Embedded and Kind.
	Provider func(cell plan.Cell, parts Parts) (cluster.Provider, error)
	Clock    clock.WithTicker
	// Keep leaves the cluster of a run up, once it is recorded, until the context
	// ends: the controllers under test are our children and need us alive.
	Keep bool
	// Disturb is done to every run's cluster while its script plays.
	Disturb []Disturbance
	// Reckon is our own version, recorded in headers.
	Reckon   string
	Progress func(Progress)

	clusters clusters
}

// Expect announces the cells that will be run, each as often as it says, so that a
// cluster which runs share is removed with the last of them that can use it.
func (e *Engine) Expect(cells []plan.Cell) { e.clusters.expect(cells) }

// Close takes down the clusters that runs shared. It must be called once, when
// no run is under way any more. The error is a *cluster.LeftError.
func (e *Engine) Close(ctx context.Context) error { return e.clusters.close(ctx) }

// Progress is one line of what is being done.
type Progress struct {
	Cell       string
	Repetition int
	Text       string
}

// ErrInvalid wraps what made a run invalid: the environment, not the component.
var ErrInvalid = errors.New("invalid run")

// AbortError says that a run was ended from outside: by an interrupt or a time limit.
type AbortError struct{ Cause error }

func (e *AbortError) Error() string { return "aborted: " + e.Cause.Error() }
func (e *AbortError) Unwrap() error { return e.Cause }

// Outcome is a run with its verdict.
type Outcome struct {
	Dir RunDir
	Run report.Run
	// Cleanup is set when the tear-down left something.
	Cleanup error
}

// Run runs one repetition of a cell. A run that could not be completed still
// has a recording with the fault in it, and so an invalid verdict. The error is
// for what has no verdict at all: a bad plan, a build that failed, an abort.
func (e *Engine) Run(ctx context.Context, cell plan.Cell, parts Parts, repetition int) (*Outcome, error) {
	s, params, err := cell.Load()
	if err != nil {
		return nil, err
	}
	dir, err := NewRunDir(e.Results, RunPlan{e.Campaign, repetition, cell}, e.Clock.Now())
	if err != nil {
		return nil, err
	}
	r := &run{engine: e, cell: cell, parts: parts, scenario: s, params: params, dir: dir, repetition: repetition, on: cluster.Offered(cell.Provider)}
	r.site = r.newSite()
	err = r.play(ctx)
	e.clusters.over(context.WithoutCancel(ctx), cell, r.say)
	out := &Outcome{Dir: dir, Cleanup: cleanupOf(err)}
	switch {
	case r.aborted != nil:
		return out, &AbortError{r.aborted}
	case err != nil && !errors.Is(err, ErrInvalid) && out.Cleanup == nil:
		return out, err
	}
	if out.Run, err = Judge(dir, Prediction); err != nil {
		return out, r.unjudged(out, err)
	}
	r.say("%s, see %s", out.Run.Verdict.Outcome, dir.File(HTMLFile))
	if err := WriteReports(dir, out.Run); err != nil {
		return out, err
	}
	return out, dir.LinkLatest()
}

// unjudged gives a run whose recording cannot be read (a full disk cut it) the
// verdict that it deserves.
func (r *run) unjudged(out *Outcome, cause error) error {
	if r.fault != nil {
		cause = fmt.Errorf("%w; and so %w", r.fault, cause)
	}
	v := judge.Unreadable(r.header(), cause.Error())
	out.Run = report.Run{Header: r.header(), Verdict: v, Changed: changed(r.header())}
	_ = WriteReports(out.Dir, out.Run) // the disk is full: the verdict is returned all the same
	return nil
}

// cleanupOf is what an error says is left; see Outcome.
func cleanupOf(err error) error {
	if left := cluster.LeftOf(err); left != nil {
		return left
	}
	return nil // not left: a nil *LeftError is no nil error
}

// run is one repetition under way.
type run struct {
	engine     *Engine
	cell       plan.Cell
	parts      Parts
	scenario   scenario.Scenario
	params     any
	dir        RunDir
	repetition int

	// on is what the cluster offers, and site where its components run.
	on      cluster.Capabilities
	site    site
	cluster cluster.Cluster
	// lease is the run's hold on a cluster that it shares, nil on one of its own.
	lease *lease
	// namespace that the drill's objects live in.
	namespace string
	base      time.Time
	// fault is what made the run invalid, if anything did.
	fault error
	// aborted is why the run was ended from outside, nil if it was not.
	aborted error
}

func (r *run) say(format string, args ...any) {
	r.engine.Progress(Progress{Cell: r.cell.Name, Repetition: r.repetition, Text: fmt.Sprintf(format, args...)})
}

// play gets a cluster, records and scripts on it and leaves it as the cell says.
func (r *run) play(ctx context.Context) (err error) {
	r.base = r.engine.Clock.Now()
	provider, err := r.engine.Provider(r.cell, r.parts)
	if err != nil {
		return err
	}
	if r.cluster, err = r.up(ctx, provider); err != nil {
		r.aborted = context.Cause(ctx)
		return r.invalidBeforeRecording(fmt.Errorf("starting the cluster: %w", err))
	}
	defer func() { err = errors.Join(err, r.leave(ctx)) }()
	err = r.record(ctx)
	if r.engine.Keep && r.aborted == nil {
		r.say("the cluster stays up until Ctrl-C: export KUBECONFIG=%s", r.cluster.Kubeconfig())
		<-ctx.Done()
	}
	return err
}

// up brings a cluster up, or returns the one that the cell shares with others.
func (r *run) up(ctx context.Context, provider cluster.Provider) (cluster.Cluster, error) {
	up := func(ctx context.Context) (cluster.Cluster, error) {
		r.say("starting a cluster with Kubernetes %s", r.cell.Versions[scenario.Kubernetes])
		c, err := provider.Up(ctx, cluster.Options{Nodes: r.cell.Nodes, Labels: map[string]string{"run": string(r.dir)}})
		if err != nil {
			return nil, err
		}
		if err := r.site.equip(ctx, c); err != nil {
			return nil, r.giveUp(ctx, c, err)
		}
		return c, nil
	}
	if r.namespace = ownNamespace; !r.shares() {
		return up(ctx)
	}
	r.namespace = r.sharedNamespace()
	lease, err := r.engine.clusters.get(ctx, r.cell, up)
	if err != nil {
		return nil, err
	}
	r.lease = lease
	return lease.Cluster, nil
}

// shares says whether the run uses a cluster beside others. One whose cluster is
// disturbed on purpose does not.
func (r *run) shares() bool {
	return r.cell.SharesCluster && !slices.ContainsFunc(r.engine.Disturb, func(d Disturbance) bool { return !d.Shared })
}

// ownNamespace is the drill's namespace where a cluster serves one run.
const ownNamespace = "drill"

// sharedNamespace tells the runs on one cluster apart: the run directory is
// unique, and its hash keeps the name short enough for a label.
func (r *run) sharedNamespace() string {
	sum := sha256.Sum256([]byte(filepath.Base(string(r.dir))))
	name := strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(r.cell.Slug()))
	return fmt.Sprintf("%s-%x", strings.Trim(name[:min(len(name), 40)], "-"), sum[:4])
}

// giveUp removes a cluster that could not be equipped, and keeps its logs.
func (r *run) giveUp(ctx context.Context, c cluster.Cluster, err error) error {
	r.cluster = c
	return errors.Join(err, r.saveLogs(ctx), down(context.Background(), c))
}

// leave takes a cluster of the run's own down. A shared one stays for the
// others; a run that failed on it takes its logs along.
func (r *run) leave(ctx context.Context) error {
	var logs error
	if r.lease == nil || r.fault != nil {
		logs = r.saveLogs(ctx)
	}
	if r.lease != nil {
		r.engine.clusters.release(r.lease.of, !r.vacate(ctx))
		return logs
	}
	r.say("removing the cluster")
	return errors.Join(logs, down(context.Background(), r.cluster))
}

// vacate removes what the run put into a shared cluster, and says whether others
// can go on using it. It is not tried where the run was ended from outside, which
// mostly ends all of them: what is in the cluster goes with it, and faster so.
func (r *run) vacate(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	err := r.site.leave(ctx)
	if err != nil && !ended(r.cluster) {
		r.say("no further run gets the cluster: %v", err)
	}
	return err == nil
}

// saveLogs copies the logs of every process into the run directory, and of nodes
// what they know of themselves if the run failed, but not while somebody who pressed
// Ctrl-C waits. A full disk must not keep the cluster from being removed, so that is
// no error here.
func (r *run) saveLogs(ctx context.Context) error {
	interrupted := errors.Is(ctx.Err(), context.Canceled)
	if nodes, ok := r.cluster.(cluster.LogCollector); ok && r.fault != nil && !interrupted {
		ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
		defer cancel()
		_ = nodes.CollectLogs(ctx, filepath.Join(r.dir.File(LogDir), "nodes"))
	}
	host, ok := r.cluster.(cluster.Host)
	if !ok {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(host.LogDir(), "*.log"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			_ = os.WriteFile(filepath.Join(r.dir.File(LogDir), filepath.Base(file)), text, 0o644)
		}
	}
	return nil
}

// invalidBeforeRecording writes a recording that holds nothing but the fault,
// so that an environment that fails early is judged like any other run.
func (r *run) invalidBeforeRecording(cause error) error {
	r.fault = cause
	f, err := os.Create(r.dir.File(RecordingFile))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(cause, err))
	}
	defer f.Close()
	w, err := recording.NewWriter(f, r.header())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(cause, err))
	}
	at := r.engine.Clock.Since(r.base)
	_ = w.Append(recording.Fact{T: int64(at), Fault: &recording.Fault{What: "environment", Detail: cause.Error()}})
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(cause, w.Close(int64(at))))
}

func (r *run) header() recording.Header {
	h := recording.Header{
		RunID: filepath.Base(string(r.dir)), Drill: r.cell.Drill, Cell: r.cell.Name, Repetition: r.repetition,
		Scenario: r.cell.Scenario, Params: r.cell.Params, Guards: r.cell.Guards,
		Gate:       map[string]string{"claims": r.cell.Gate.Claims, "guards": r.cell.Gate.Guards},
		Components: r.parts.Components(r.cell), Base: r.base, Reckon: r.engine.Reckon,
		Cluster: recording.Cluster{Provider: r.cell.Provider},
	}
	if r.cluster != nil {
		h.Cluster = recording.Cluster{Provider: r.cluster.Provider(), Fidelity: r.cluster.Fidelity(), Facts: r.cluster.Facts()}
	}
	for i, c := range h.Components { // whatever image the nodes have
		if v := h.Cluster.Facts["version/kube-apiserver"]; c.Source == fromNodeImage && v != "" {
			h.Components[i].Version = v
		}
	}
	for _, c := range r.on {
		h.Cluster.Offers = append(h.Cluster.Offers, string(c))
	}
	return h
}

func decode(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
