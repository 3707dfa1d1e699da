//go:build linux

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// One good run, and everything that can be asked of its recording.
func TestRunThatGoesAsPredicted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "replicas=3", "minPodsPerReplicaSet=2", "ramp=300ms", "quiet=2s")
	out := r.judged()
	header, all, trailer := facts(t, out.Dir)

	t.Run("passes with every claim held", func(t *testing.T) { wantPass(t, out) })
	t.Run("breaks the guard as predicted", func(t *testing.T) { wantGuardBroken(t, out) })
	t.Run("leaves all files", func(t *testing.T) { wantFiles(t, r, out) })
	t.Run("is judged again to the same bytes", func(t *testing.T) { wantSameVerdict(t, out) })
	t.Run("records every kind of fact", func(t *testing.T) { wantFacts(t, all) })
	t.Run("says what took part", func(t *testing.T) { wantHeader(t, header) })
	t.Run("judged otherwise", func(t *testing.T) { doctored(t, out, header, all, trailer.EndNS) })
	t.Run("refused", func(t *testing.T) { refused(t, out) })
}

func wantPass(t *testing.T, out *engine.Outcome) {
	v := out.Run.Verdict
	if v.Outcome != judge.Pass || len(v.Claims) == 0 {
		t.Errorf("%s with %d claims: %v", v.Outcome, len(v.Claims), v.Reasons)
	}
	for _, c := range v.Claims {
		if c.Status != judge.Held || c.Samples == 0 {
			t.Errorf("claim %s is %s on %d samples: %s", c.ID, c.Status, c.Samples, c.Why)
		}
	}
}

func wantGuardBroken(t *testing.T, out *engine.Outcome) {
	for _, g := range out.Run.Verdict.Guards {
		if g.ID != rollback.Overload {
			continue
		}
		if g.Status != judge.Broken || g.Worst == nil || g.Expected == nil || *g.Worst != *g.Expected {
			t.Errorf("guard: %+v", g)
		}
		return
	}
	t.Error("no guard overload")
}

func wantFiles(t *testing.T, r *rig, out *engine.Outcome) {
	for _, name := range []string{
		engine.RecordingFile, engine.PlanFile, engine.VerdictFile, engine.HTMLFile, engine.JUnitFile,
		"logs/argo-rollouts.log", "logs/etcd.log", "logs/kube-apiserver.log", "logs/kube-controller-manager.log",
		"logs/kube-scheduler.log", "logs/kwok.log",
	} {
		if _, err := os.Stat(out.Dir.File(name)); err != nil {
			t.Error(err)
		}
	}
	latest, err := filepath.EvalSymlinks(filepath.Join(r.Results, "runs", "latest"))
	if err != nil || filepath.Base(latest) != filepath.Base(string(out.Dir)) {
		t.Errorf("latest is %q, %v", latest, err)
	}
	var cell plan.Cell
	readJSON(t, out.Dir.File(engine.PlanFile), &cell)
	if cell.Name != r.cell.Name || cell.Scenario != r.cell.Scenario {
		t.Errorf("plan.json is of %q", cell.Name)
	}
}

func wantSameVerdict(t *testing.T, out *engine.Outcome) {
	again, err := engine.Judge(out.Dir, engine.Prediction)
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	if err := report.JSON(&now, again.Verdict); err != nil {
		t.Fatal(err)
	}
	then, err := os.ReadFile(out.Dir.File(engine.VerdictFile))
	if err != nil || !bytes.Equal(then, now.Bytes()) {
		t.Errorf("verdict.json differs, %v:\n%s\n%s", err, then, now.Bytes())
	}
}

func wantFacts(t *testing.T, all []recording.Fact) {
	seen := map[string]int{}
	for _, f := range all {
		switch {
		case f.Object != nil && (f.Object.Change == recording.Listed || f.Object.Change == recording.Added):
			seen["object "+f.Object.Resource]++
		case f.Sample != nil:
			name, _, _ := strings.Cut(f.Sample.Series, "_")
			seen["sample "+name]++
		case f.Log != nil:
			seen["log "+f.Log.Component]++
		case f.Call != nil:
			seen["call "+f.Call.Verb]++
		case f.Step != nil:
			seen[f.Step.Phase+" "+f.Step.Name]++
		case f.Gap != nil:
			t.Errorf("a gap: %+v", f.Gap)
		case f.Fault != nil:
			t.Errorf("a fault: %+v", f.Fault)
		}
	}
	for _, want := range []string{
		// No DestinationRule exists with routing by Services.
		"object rollouts.argoproj.io", "object replicasets.apps", "object pods", "object services", "object endpointslices.discovery.k8s.io",
		"object virtualservices.networking.istio.io", "object events", "object leases.coordination.k8s.io",
		"sample rollout", "sample workqueue", "log argo-rollouts", "call create", "call patch",
	} {
		if seen[want] == 0 {
			t.Errorf("no fact %q among %v", want, seen)
		}
	}
	for _, step := range []string{rollback.StepDeploy, rollback.StepUpgrade, rollback.StepOldGone, rollback.StepRollback, rollback.StepRamp, rollback.StepSettle, rollback.StepQuiet} {
		if seen["begin "+step] != 1 || seen["end "+step] != 1 {
			t.Errorf("step %q: begun %d times, ended %d times", step, seen["begin "+step], seen["end "+step])
		}
	}
	if !slices.IsSortedFunc(all, func(a, b recording.Fact) int { return int(a.T - b.T) }) {
		t.Error("facts are not in the order of their receipt")
	}
}

func wantHeader(t *testing.T, h recording.Header) {
	names := map[string]bool{}
	for _, c := range h.Components {
		names[c.Name] = len(c.Digests) > 0
	}
	for _, want := range []string{"etcd", "kwok", "kubernetes", "argo-rollouts"} {
		if !names[want] {
			t.Errorf("no digest of %s in the header", want)
		}
	}
	if h.Cluster.Fidelity == "" || h.Cluster.Facts["version/kube-apiserver"] == "" || h.Scenario != "rollback-window" {
		t.Errorf("header: %+v", h)
	}
}

// doctored judges recordings that lack or have what the good one has or lacks.
func doctored(t *testing.T, out *engine.Outcome, h recording.Header, all []recording.Fact, end int64) {
	ramp := windowOf(t, out.Run.Set, rollback.StepRamp)
	gap := func(resource string, lossless bool) recording.Fact {
		return recording.Fact{T: int64(ramp.To), Gap: &recording.Gap{
			Resource: resource, FromNS: int64(ramp.From), ToNS: int64(ramp.To), Lossless: lossless, Reason: "cut by a test"}}
	}
	fault := recording.Fact{T: end, Fault: &recording.Fault{What: "argo-rollouts", Detail: "ended by itself"}}
	for name, c := range map[string]struct {
		facts []recording.Fact
		want  judge.Outcome
	}{
		"the same facts pass":                         {all, judge.Pass},
		"a lossy gap of the VirtualService":           {withFact(all, gap("virtualservices.networking.istio.io", false)), judge.Undecided},
		"a lossy gap of the ReplicaSets":              {withFact(all, gap("replicasets.apps", false)), judge.Undecided},
		"a lossy gap of a resource that no claim has": {withFact(all, gap("services", false)), judge.Pass},
		"a lossless gap inside the ramp":              {withFact(all, gap("virtualservices.networking.istio.io", true)), judge.Pass},
		"no object and no log":                        {keep(all, func(f recording.Fact) bool { return f.Step != nil }), judge.Undecided},
		"no log":                                      {keep(all, func(f recording.Fact) bool { return f.Log == nil }), judge.Undecided},
		"no step":                                     {keep(all, func(f recording.Fact) bool { return f.Step == nil }), judge.Undecided},
		"no fact at all":                              {nil, judge.Undecided},
		"a fault":                                     {withFact(all, fault), judge.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := engine.Judge(rewritten(t, h, c.facts, end), engine.Prediction)
			if err != nil {
				t.Fatal(err)
			}
			if run.Verdict.Outcome != c.want {
				t.Errorf("%s, want %s: %v", run.Verdict.Outcome, c.want, run.Verdict.Reasons)
			}
			if c.want != judge.Pass && len(run.Verdict.Reasons) == 0 {
				t.Error("no reason given")
			}
		})
	}
}

func windowOf(t *testing.T, set *series.Set, step string) series.Interval {
	t.Helper()
	in, ok := set.Resolve(series.Window{From: step, To: step})
	if !ok {
		t.Fatalf("no step %q", step)
	}
	return in
}

// withFact puts a fact in its place in the order of receipt.
func withFact(all []recording.Fact, f recording.Fact) []recording.Fact {
	i := 0
	for i < len(all) && all[i].T <= f.T {
		i++
	}
	return slices.Insert(slices.Clone(all), i, f)
}

func keep(all []recording.Fact, wanted func(recording.Fact) bool) []recording.Fact {
	var out []recording.Fact
	for _, f := range all {
		if wanted(f) {
			out = append(out, f)
		}
	}
	return out
}

// refused: what was cut or changed is not judged.
func refused(t *testing.T, out *engine.Outcome) {
	whole, err := os.ReadFile(out.Dir.File(engine.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x40
	for name, content := range map[string][]byte{
		"cut in the middle":      whole[:len(whole)/2],
		"without its last bytes": whole[:len(whole)-8],
		"one bit flipped":        flipped,
		"empty":                  nil,
		"something else":         []byte("not a recording\n"),
		"two in one file":        append(bytes.Clone(whole), whole...),
		"one word edited":        replaced(t, whole, `within window`, `without limit`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := engine.RunDir(t.TempDir())
			if err := os.WriteFile(dir.File(engine.RecordingFile), content, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := engine.Judge(dir, engine.Prediction)
			if !errors.Is(err, recording.ErrCut) && !errors.Is(err, recording.ErrEdited) && !errors.Is(err, recording.ErrFormat) {
				t.Errorf("judged, or refused for another reason: %v", err)
			}
		})
	}
}

// replaced edits the text of a recording.
func replaced(t *testing.T, compressed []byte, from, to string) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(compressed, nil)
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.ReplaceAll(text, []byte(from), []byte(to))
	if bytes.Equal(edited, text) {
		t.Fatalf("no %q in the recording", from)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return encoder.EncodeAll(edited, nil)
}

// The ends of the range of replicas.
func TestRunsOfFewReplicas(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"no replica at all":                 {"replicas=0", "minPodsPerReplicaSet=0"},
		"one replica":                       {"replicas=1", "minPodsPerReplicaSet=0"},
		"one replica that is the least too": {"replicas=1", "minPodsPerReplicaSet=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newRig(t, set...).judged()
			if out.Run.Verdict.Outcome != judge.Pass {
				t.Errorf("%s: %v", out.Run.Verdict.Outcome, out.Run.Verdict.Reasons)
			}
		})
	}
}

// A part that dies makes the run invalid, whatever the claims would say.
func TestRunWhosePartDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, process, step string
		reasons             []string
	}{
		{"the controller during the ramp", "argo-rollouts", rollback.StepRamp, []string{"argo-rollouts", "signal: killed", "the last 30 lines of logs/argo-rollouts.log", `"level":"info"`}},
		{"etcd during the first deployment", "etcd", rollback.StepDeploy, []string{"cluster", "etcd", "signal: killed"}},
		{"kube-controller-manager during the upgrade", "kube-controller-manager", rollback.StepUpgrade, []string{"cluster", "kube-controller-manager", "signal: killed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "quiet=20s")
			r.Disturb = []engine.Disturbance{{Name: "kill " + c.process, Step: c.step, Do: kill(c.process)}}
			out := r.judged()
			v := out.Run.Verdict
			if v.Outcome != judge.Invalid {
				t.Fatalf("%s, want invalid", v.Outcome)
			}
			for _, want := range c.reasons {
				if !strings.Contains(strings.Join(v.Reasons, "\n"), want) {
					t.Errorf("no %q in the reasons:\n%s", want, strings.Join(v.Reasons, "\n"))
				}
			}
			if _, err := os.Stat(out.Dir.File("logs/" + c.process + ".log")); err != nil {
				t.Error(err)
			}
		})
	}
}

// While the API server is away nobody can see what happens: the run goes on,
// and what it cannot tell it does not claim.
func TestRunWithAPIServerRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, "replicas=4", "ramp=700ms")
	restart := engine.Disturbance{Name: "restart the API server", Step: rollback.StepRamp, Do: func(ctx context.Context, c cluster.Cluster) error {
		return c.(cluster.ComponentRestarter).RestartComponent(ctx, cluster.APIServer)
	}}
	r.Disturb = []engine.Disturbance{restart}
	out := r.judged()
	v := out.Run.Verdict
	_, all, _ := facts(t, out.Dir)
	gaps := keep(all, func(f recording.Fact) bool { return f.Gap != nil })
	if len(gaps) == 0 {
		t.Fatal("no gap was recorded")
	}
	lossy := false
	for _, f := range gaps {
		t.Logf("%+v", *f.Gap)
		lossy = lossy || !f.Gap.Lossless
	}
	if v.Outcome != judge.Undecided && (v.Outcome != judge.Pass || lossy) {
		t.Errorf("%s with lossy gaps: %v: %v", v.Outcome, lossy, v.Reasons)
	}
	if out.Run.Set.Step(restart.Name) == nil {
		t.Error("the restart is not in the recording")
	}
	for _, c := range v.Claims {
		t.Logf("%-15s %-13s %s %s", c.ID, c.Status, c.Observed, c.Why)
	}
}

// A disturbance that never happened is not a run with it.
func TestRunWhoseDisturbanceHasNoStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, "replicas=0", "minPodsPerReplicaSet=0")
	r.Disturb = []engine.Disturbance{{Name: "restart", Step: "no such step", Do: func(context.Context, cluster.Cluster) error { return nil }}}
	v := r.judged().Run.Verdict
	if v.Outcome != judge.Invalid || !strings.Contains(strings.Join(v.Reasons, "\n"), "no such step") {
		t.Errorf("%s: %v", v.Outcome, v.Reasons)
	}
}

// An abort leaves a recording that says so, and no verdict.
func TestRunThatIsAborted(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped by a test")
	for _, at := range []string{"starting a cluster", "starting Argo Rollouts", rollback.StepDeploy} {
		t.Run("at "+at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r.said.on = func(line string) {
				if strings.HasPrefix(line, at) {
					cancel(stopped)
				}
			}
			out, err := r.run(ctx)
			if _, ok := errors.AsType[*engine.AbortError](err); !ok || !errors.Is(err, stopped) {
				t.Fatalf("not aborted: %v", err)
			}
			if _, err := os.Stat(out.Dir.File(engine.VerdictFile)); err == nil {
				t.Error("an aborted run has a verdict")
			}
			run, err := engine.Judge(out.Dir, engine.Prediction)
			if err != nil || run.Verdict.Outcome != judge.Invalid || !strings.Contains(strings.Join(run.Verdict.Reasons, "\n"), stopped.Error()) {
				t.Errorf("judged later: %s %v, %v", run.Verdict.Outcome, run.Verdict.Reasons, err)
			}
		})
	}
}
