package report

import (
	"encoding/json"
	"io"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
)

// RunsFormat names the schema of the JSON over several runs.
const RunsFormat = "reckon/runs/v1"

// JSON writes verdict.json: indented, and byte-identical for equal input.
func JSON(w io.Writer, v judge.Verdict) error { return encode(w, whole(v)) }

// JSONRuns writes all runs of a command with their joint outcome and the exit
// code the command ends with.
func JSONRuns(w io.Writer, vs []judge.Verdict, exitCode int) error {
	out := struct {
		Format   string          `json:"format"`
		Outcome  judge.Outcome   `json:"outcome"`
		ExitCode int             `json:"exitCode"`
		Runs     []judge.Verdict `json:"runs"`
	}{RunsFormat, joint(vs, exitCode), exitCode, make([]judge.Verdict, len(vs))}
	for i, v := range vs {
		out.Runs[i] = whole(v)
	}
	return encode(w, out)
}

// Aborted is the joint outcome of runs of which some were ended from outside.
const Aborted judge.Outcome = "aborted"

// exitAborted is the documented exit code of runs that were ended from outside.
const exitAborted = 5

func joint(vs []judge.Verdict, exitCode int) judge.Outcome {
	if exitCode == exitAborted {
		return Aborted
	}
	return Outcome(vs)
}

// Outcome is the joint outcome of several runs: what failed outranks what was
// invalid, and that what could not be told. No run at all is inconclusive,
// never green.
func Outcome(vs []judge.Verdict) judge.Outcome {
	rank := map[judge.Outcome]int{judge.Pass: 0, judge.Undecided: 1, judge.Invalid: 2, judge.Fail: 3}
	if len(vs) == 0 {
		return judge.Undecided
	}
	worst := judge.Pass
	for _, v := range vs {
		if rank[v.Outcome] > rank[worst] {
			worst = v.Outcome
		}
	}
	return worst
}

// whole makes empty lists of missing ones, so that a reader never meets null.
func whole(v judge.Verdict) judge.Verdict {
	if v.Claims == nil {
		v.Claims = []judge.ClaimResult{}
	}
	if v.Guards == nil {
		v.Guards = []judge.GuardResult{}
	}
	if v.Components == nil {
		v.Components = []recording.Component{}
	}
	return v
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
