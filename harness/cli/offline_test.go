package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cli"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/toolchain"
)

// inProcess runs a command in this process.
func inProcess(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = cli.Main(t.Context(), args, cli.IO{Out: &out, Err: &err, Getenv: func(string) string { return "" }, Clock: clock.RealClock{}})
	return code, out.String(), err.String()
}

func TestOutputsMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"help":                  "--help",
		"help-run":              "run --help",
		"help-plan":             "plan --help",
		"help-predict":          "predict --help",
		"help-judge":            "judge --help",
		"help-compare":          "compare --help",
		"help-gate":             "gate --help",
		"help-bisect":           "bisect --help",
		"plan-upgrade":          "plan rollouts-upgrade --version argo-rollouts=v1.9.2",
		"scenarios":             "scenarios",
		"scenarios-one":         "scenarios rollback-window-abort",
		"drills":                "drills",
		"plan-default":          "plan default",
		"plan-versions":         "plan rollback-versions",
		"plan-scenario":         "plan rollback-window --set replicas=4 --version argo-rollouts=../fork@v1.8.2 --repeat 3",
		"plan-default-json":     "plan default -o json",
		"plan-skewed":           "plan default --kubernetes v1.37.2 --version kube-controller-manager=v1.36.3",
		"predict-services":      "predict rollback-window",
		"predict-subsets":       "predict rollback-window --set routing=subsets",
		"predict-1.7":           "predict rollback-window --version argo-rollouts=v1.7.2",
		"predict-abort-json":    "predict rollback-window-abort -o json",
		"predict-unknown":       "predict rollback-window --version argo-rollouts=v1.11.0",
		"predict-directory":     "predict rollback-window --version argo-rollouts=../fork@v1.8.2",
		"predict-basis":         "predict rollback-window --set replicas=7 --set rollbackWindow=5 --basis",
		"predict-several-cells": "predict rollback-controls",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, strings.Fields(args)...)
			if code != cli.ExitPass || stderr != "" {
				t.Fatalf("code %d, %s", code, stderr)
			}
			golden.Check(t, name+".golden", []byte(stdout))
		})
	}
}

func TestUsageErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown command":          {[]string{"plam"}, 2, `reckon: unknown command "plam" for "reckon", did you mean "plan"?; there are `},
		"unknown subcommand":       {[]string{"cluster", "upp"}, 2, `reckon: unknown command "upp" for "reckon cluster", did you mean "up"?; there are down, list, up`},
		"unknown flag":             {[]string{"plan", "--sett", "a=b", "default"}, 2, `reckon: unknown flag: --sett (usage: reckon plan DRILL|SCENARIO [flags])`},
		"argument missing":         {[]string{"plan"}, 2, `reckon: accepts 1 arg(s), received 0 (usage: reckon plan DRILL|SCENARIO [flags])`},
		"argument too much":        {[]string{"version", "x"}, 2, `reckon: unknown command "x" for "reckon version" (usage: reckon version [flags])`},
		"nothing to judge":         {[]string{"judge"}, 2, `reckon: requires at least 1 arg(s), only received 0 (usage: reckon judge RUN-DIR... [flags])`},
		"unknown drill":            {[]string{"plan", "defualt"}, 2, `reckon: no drill file, shipped drill or scenario "defualt", did you mean "default"?; ` + "`reckon drills` and `reckon scenarios` list what there is"},
		"unknown scenario":         {[]string{"scenarios", "rollback-windw"}, 2, `reckon: unknown scenario "rollback-windw", did you mean "rollback-window"?; there are rollback-window, rollback-window-abort`},
		"a file that is not":       {[]string{"run", "no/such.yaml"}, 2, `reckon: reading the drill: open no/such.yaml: no such file or directory`},
		"a bad drill":              {[]string{"plan", "../../drills/testdata/invalid-unknown-parameter.yaml"}, 2, `reckon: ../../drills/testdata/invalid-unknown-parameter.yaml:8: spec.scenarios[0].params.replica: scenario rollback-window has no parameter "replica", did you mean "replicas"?; expected one of `},
		"a bad parameter":          {[]string{"predict", "default", "--set", "replicas=many"}, 2, `reckon: --set replicas=many: replicas: expected a whole number, got "many"`},
		"unknown parameter":        {[]string{"predict", "rolling-update", "--set", "replica=7"}, 2, `reckon: --set replica=7: no parameter "replica", did you mean "replicas"?; there are `},
		"a bad version":            {[]string{"plan", "default", "--version", "argo-rollouts=1.8.2"}, 2, `reckon: --version argo-rollouts=1.8.2: "1.8.2" is no version, did you mean "v1.8.2"?`},
		"kubernetes by two flags":  {[]string{"predict", "default", "--kubernetes", "v1.34.2", "--version", "kubernetes=v1.34.2"}, 2, `reckon: --kubernetes v1.34.2: kubernetes is given twice`},
		"no version of kubernetes": {[]string{"run", "default", "--kubernetes="}, 2, `reckon: --kubernetes: the version is missing`},
		"a forbidden skew":         {[]string{"run", "default", "--version", "kube-controller-manager=v1.35.4"}, 2, `reckon: --version kube-controller-manager=v1.35.4: kube-controller-manager v1.35.4 cannot run against the kube-apiserver of kubernetes v1.37.2: the version skew policy of Kubernetes allows v1.37 and v1.36`},
		"a bad provider":           {[]string{"plan", "default", "--provider", "minikube"}, 2, `reckon: --provider: unknown provider "minikube"`},
		"no such provider":         {[]string{"cluster", "up", "--provider", "kimd"}, 2, `reckon: unknown provider "kimd", did you mean "kind"?; there are embedded, kind`},
		"another provider's flag":  {[]string{"cluster", "up", "--workers", "2"}, 2, `reckon: --workers means nothing to the provider embedded`},
		"nodes that are workers":   {[]string{"cluster", "up", "--provider", "kind", "--nodes", "2"}, 2, `reckon: --nodes means nothing to the provider kind`},
		"too many workers":         {[]string{"cluster", "up", "--provider", "kind", "--workers", "99"}, 2, `reckon: --workers: 99 is no number of workers, expected 0 to 7: all nodes are containers of one machine, and each takes about 300 MB`},
		"too many nodes":           {[]string{"cluster", "up", "--nodes", "99999"}, 2, `reckon: --nodes: 99999 is no number of simulated nodes, expected 1 to 10000`},
		"no name of a cluster":     {[]string{"cluster", "up", "--name", "My_Cluster"}, 2, `reckon: --name: name "My_Cluster" is not 1 to 40 small letters, digits and inner dashes`},
		"an option for an image":   {[]string{"cluster", "up", "--provider", "kind", "--node-image=--privileged"}, 2, `reckon: --node-image: "--privileged" is no image of nodes, expected auto, build or a reference such as kindest/node:v1.34.2`},
		"sources for a node":       {[]string{"cluster", "up", "--provider", "kind", "--kubernetes", "../k@v1.37.2"}, 2, `reckon: --kubernetes ../k@v1.37.2: provider kind runs a release of Kubernetes`},
		"no results":               {[]string{"run", "default", "--results", ""}, 2, `reckon: --results: the directory is missing`},
		"a scenario that is not":   {[]string{"run", "scenario:rollback-windw"}, 2, `reckon: unknown scenario "rollback-windw", did you mean "rollback-window"?; there are `},
		"a drill for its scenario": {[]string{"run", "single-replica-restart", "--provider", "kind"}, 2, `reckon: drills/single-replica-restart.yaml:`},
		"unknown output":           {[]string{"plan", "default", "-o", "jsn"}, 2, `reckon: unknown output "jsn", did you mean "json"?, expected one of text, json`},
		"unknown output of run":    {[]string{"run", "default", "-o", "yaml"}, 2, `reckon: unknown output "yaml", expected one of text, json, markdown`},
		"unknown output of judge":  {[]string{"judge", "x", "-o", "html"}, 2, `reckon: unknown output "html", expected one of text, json, markdown, junit`},
		"unknown format":           {[]string{"report", "x", "--format", "pdf"}, 2, `reckon: unknown output "pdf", expected one of text, json, markdown, html, junit`},
		"no runs at a time":        {[]string{"run", "default", "--parallel", "0"}, 2, `reckon: --parallel: 0 is no number of runs at a time, expected 1 to 64`},
		"a number that is none":    {[]string{"run", "default", "--repeat", "x"}, 2, `reckon: invalid argument "x" for "--repeat" flag: `},
		"nothing to compare with":  {[]string{"compare", "x"}, 2, `reckon: accepts 2 arg(s), received 1 (usage: reckon compare A B [flags])`},
		"no directory":             {[]string{"compare", "no/such", "no/such"}, 2, `reckon: no/such is no directory of recordings`},
		"no recordings":            {[]string{"compare", "testdata", "testdata"}, 2, `reckon: no recording in testdata`},
		"no such choice":           {[]string{"compare", committed + "@argo-rollout=v1.8.2", committed}, 2, `reckon: ../../results/baselines@argo-rollout=v1.8.2: "argo-rollout=v1.8.2" is no choice, did you mean "argo-rollouts"?; expected KEY=VALUE`},
		"no such version recorded": {[]string{"compare", committed + "@argo-rollouts=v1.6.0", committed}, 2, `reckon: none of the `},
		"no such repetition":       {[]string{"compare", committed + "@repetition=first", committed}, 2, `reckon: ../../results/baselines@repetition=first: repetition "first" is none, expected a number, odd or even`},
		"several versions":         {[]string{"compare", committed + "@drill=rollback-versions", committed + "@drill=rollback-versions"}, 2, `reckon: ../../results/baselines@drill=rollback-versions has rollback-window[routing=services] with several versions, of which one must be chosen: `},
		"a gate for nothing":       {[]string{"gate", "etcd", "v3.6.15", "v3.6.16"}, 2, `reckon: --drill is missing: no drill is the default for etcd`},
		"a gate of no version":     {[]string{"gate", "argo-rollouts", "1.8.3", "v1.9.2"}, 2, `reckon: --version argo-rollouts=1.8.3: "1.8.3" is no version, did you mean "v1.8.3"?`},
		"a gate of another part":   {[]string{"gate", "istiod", "v1.8.3", "v1.9.2", "--drill", "rollback-versions"}, 2, `reckon: --version istiod=v1.8.3: no component "istiod"`},
		"no good version":          {[]string{"bisect", "rollback-window", "--bad", "v1.9.2"}, 2, `reckon: --good: the version is missing`},
		"good after bad":           {[]string{"bisect", "rollback-window", "--good", "v1.9.2", "--bad", "v1.8.3"}, 2, `reckon: --good v1.9.2 is not before --bad v1.8.3`},
		"a drill of several":       {[]string{"bisect", "rollback-requests", "--good", "v1.8.2", "--bad", "v1.9.2"}, 2, `reckon: --component is missing: the drill has argo-rollouts, istiod, kubernetes`},
		"another plan's hash":      {[]string{"run", "default", "--plan", "abc"}, 6, `reckon: the plan has the hash `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, c.args...)
			if code != c.code || stdout != "" {
				t.Errorf("code %d, want %d; stdout %q", code, c.code, stdout)
			}
			if !strings.HasPrefix(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr\n got %swant %s", stderr, c.want)
			}
		})
	}
}

func TestADrillThatCannotRunNamesTheScenarioThatCan(t *testing.T) {
	t.Parallel()
	code, _, stderr := inProcess(t, "plan", "single-replica-restart", "--provider", "kind")
	const want = "this is the drill single-replica-restart, and the scenario of that name can run so: scenario:single-replica-restart"
	if code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("code %d, %s", code, stderr)
	}
	code, stdout, stderr := inProcess(t, "plan", "scenario:single-replica-restart", "--provider", "kind")
	if code != cli.ExitPass || !strings.Contains(stdout, "drill single-replica-restart: 1 cell") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = inProcess(t, "plan", "single-replica-restart", "--provider", "kind", "--set", "flap=true", "--set", "minReadySeconds=4")
	if code != cli.ExitUsage || strings.Contains(stderr, "scenario:") {
		t.Errorf("what the scenario cannot do either: code %d, %s", code, stderr)
	}
}

func TestGroupsPrintTheirHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"cluster"}} {
		if code, stdout, stderr := inProcess(t, args...); code != cli.ExitPass || !strings.Contains(stdout, "Available Commands") || stderr != "" {
			t.Errorf("%q: code %d, %s%s", args, code, stdout, stderr)
		}
	}
}

func TestSchemaIsThatOfTheDrills(t *testing.T) {
	t.Parallel()
	schema, err := drills.Schema()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := inProcess(t, "schema")
	var got bytes.Buffer
	if err := json.Compact(&got, []byte(stdout)); err != nil {
		t.Fatal(err)
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, got.Bytes())
	if code != cli.ExitPass || stderr != "" || escaped.String() != string(want) {
		t.Errorf("code %d, %s, schema\n%s\nwant\n%s", code, stderr, escaped.String(), want)
	}
}

func TestVersionNamesEveryComponent(t *testing.T) {
	t.Parallel()
	code, stdout, _ := inProcess(t, "version")
	if code != cli.ExitPass || !strings.HasPrefix(stdout, "reckon ") || !strings.Contains(stdout, runtime.Version()) {
		t.Errorf("code %d, %s", code, stdout)
	}
	for _, c := range toolchain.Catalogue() {
		if !strings.Contains(stdout, c.Name+" ") || !strings.Contains(stdout, c.Default) {
			t.Errorf("%s %s is missing from\n%s", c.Name, c.Default, stdout)
		}
	}
}

func TestPlanHashIsTheSameInEveryForm(t *testing.T) {
	t.Parallel()
	_, text, _ := inProcess(t, "plan", "default")
	_, raw, _ := inProcess(t, "plan", "default", "-o", "json")
	var form struct{ Hash string }
	if err := json.Unmarshal([]byte(raw), &form); err != nil {
		t.Fatal(err)
	}
	if form.Hash == "" || !strings.Contains(text, "hash "+form.Hash) {
		t.Errorf("hash %q is not in %s", form.Hash, text)
	}
}

// runDir writes a run directory with a recording of the facts.
func runDir(t *testing.T, facts ...recording.Fact) string {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{
		RunID: "20261129T212545Z-default-1", Drill: "default", Cell: "rollback-window", Repetition: 1, Scenario: "rollback-window", Params: json.RawMessage(`{"replicas":4}`),
		Components: []recording.Component{{Name: "argo-rollouts", Version: "v1.8.2"}}, Cluster: recording.Cluster{Provider: "embedded"},
		Gate: map[string]string{"claims": "fail", "guards": "report"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(1e9); err != nil {
		t.Fatal(err)
	}
	return dirWith(t, file.Bytes())
}

func dirWith(t *testing.T, file []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, engine.RecordingFile), file, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

var fault = recording.Fact{T: 5e8, Fault: &recording.Fault{What: "kwok", Detail: "exited with status 1"}}

func TestJudgeRefusesWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join(runDir(t, fault), engine.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Clone(whole)
	edited[len(edited)/2] ^= 0x10
	for name, c := range map[string]struct{ dir, want string }{
		"a directory without recording": {t.TempDir(), "no recording in "},
		"a recording that was cut":      {dirWith(t, whole[:len(whole)-10]), engine.RecordingFile},
		"a recording that was edited":   {dirWith(t, edited), engine.RecordingFile},
		"something else":                {dirWith(t, []byte("hello")), engine.RecordingFile},
		"nothing":                       {dirWith(t, nil), engine.RecordingFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, "judge", c.dir)
			if code != cli.ExitInvalid || stdout != "" || !strings.HasPrefix(stderr, "reckon: refused: ") || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
			code, stdout, stderr = inProcess(t, "report", c.dir)
			if code != cli.ExitInvalid || stdout != "" || !strings.HasPrefix(stderr, "reckon: refused: ") {
				t.Errorf("report: code %d\nstdout %s\nstderr %s", code, stdout, stderr)
			}
		})
	}
}

func TestAMistypedRunDirectoryIsAUsageError(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"judge", "report"} {
		code, stdout, stderr := inProcess(t, verb, filepath.Join(t.TempDir(), "no"))
		if code != cli.ExitUsage || stdout != "" || !strings.HasSuffix(stderr, "is no run directory\n") {
			t.Errorf("%s: code %d\nstdout %s\nstderr %s", verb, code, stdout, stderr)
		}
	}
}

func TestJudgeEndsWithTheWorstCode(t *testing.T) {
	t.Parallel()
	empty, faulty := runDir(t), runDir(t, fault)
	for name, c := range map[string]struct {
		dirs    []string
		code    int
		outcome string
		runs    int
	}{
		"an empty recording":          {[]string{empty}, cli.ExitInconclusive, "inconclusive", 1},
		"a recording with a fault":    {[]string{faulty}, cli.ExitInvalid, "invalid", 1},
		"both":                        {[]string{empty, faulty}, cli.ExitInvalid, "invalid", 2},
		"one of two cannot be judged": {[]string{t.TempDir(), empty}, cli.ExitInvalid, "inconclusive", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, _ := inProcess(t, append([]string{"judge", "-o", "json"}, c.dirs...)...)
			var out struct {
				Outcome  string
				ExitCode int
				Runs     []json.RawMessage
			}
			if err := json.Unmarshal([]byte(stdout), &out); err != nil {
				t.Fatalf("%v in %s", err, stdout)
			}
			if code != c.code || out.ExitCode != c.code || out.Outcome != c.outcome || len(out.Runs) != c.runs {
				t.Errorf("code %d, json %d, outcome %s, %d runs", code, out.ExitCode, out.Outcome, len(out.Runs))
			}
		})
	}
}

func TestJudgeSaysWhenTheVerdictChanged(t *testing.T) {
	t.Parallel()
	dir := runDir(t)
	_, verdict, _ := inProcess(t, "report", "--format", "json", dir)
	path := filepath.Join(dir, engine.VerdictFile)
	for text, said := range map[string]bool{verdict: false, "{}\n": true} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, stderr := inProcess(t, "judge", dir); strings.Contains(stderr, "the verdict differs from the one in verdict.json") != said {
			t.Errorf("stderr %q", stderr)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("verdict.json was changed (%v)", err)
		}
	}
}

func TestReportFormats(t *testing.T) {
	t.Parallel()
	dir := runDir(t, fault)
	for format, want := range map[string]string{
		"text": "INVALID", "json": `"outcome": "invalid"`, "markdown": "| ", "html": "<!doctype html>", "junit": "<testsuite",
	} {
		code, stdout, stderr := inProcess(t, "report", "--format", format, dir)
		if code != cli.ExitPass || stderr != "" || !strings.Contains(strings.ToLower(stdout), strings.ToLower(want)) {
			t.Errorf("%s: code %d, %s, %.200s", format, code, stderr, stdout)
		}
	}
}
