package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/plan"
)

func TestShippedDrillsGiveTheirGoldenPlans(t *testing.T) {
	t.Parallel()
	for _, name := range drills.Shipped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := drills.LoadShipped(name)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(d, plan.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, c := range p.Cells {
				fmt.Fprintf(&text, "%s\n  file name %s\n  versions %v\n  params %s\n  guards %v, gate %v, repeat %d, provider %s, expected %s\n",
					c.Name, c.Slug(), c.Versions, c.Params, c.Guards, c.Gate, c.Repeat, c.Provider, c.Expected())
			}
			fmt.Fprintf(&text, "expected %s, hash %s\n", p.Expected(), p.Hash())
			golden.Check(t, name+".golden", []byte(text.String()))
		})
	}
}

// head begins a drill with one scenario; what follows is its body.
const head = "apiVersion: reckon/v1\nkind: Drill\nmetadata: {name: d}\nspec:\n  scenarios:\n  - name: rollback-window\n"

func load(t *testing.T, text string) *drills.Drill {
	t.Helper()
	d, err := drills.Load("d.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func planOf(t *testing.T, text string, o plan.Overrides) *plan.Plan {
	t.Helper()
	p, err := plan.New(load(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// param reads one parameter of a cell.
func param(t *testing.T, c plan.Cell, name string) any {
	t.Helper()
	var params map[string]any
	if err := json.Unmarshal(c.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params[name]
}

func TestTheLaterSourceOfAParameterWins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		set  []string
		want []float64
	}{
		"the default without anything":     {"", nil, []float64{20}},
		"params over the default":          {"    params: {replicas: 8}\n", nil, []float64{8}},
		"the matrix over params":           {"    params: {replicas: 8}\n    matrix: {replicas: [9, 10]}\n", nil, []float64{9, 10}},
		"--set over params":                {"    params: {replicas: 8}\n", []string{"replicas=11"}, []float64{11}},
		"--set over the matrix, one cell":  {"    matrix: {replicas: [9, 10]}\n", []string{"replicas=11"}, []float64{11}},
		"the last --set over the first":    {"", []string{"replicas=11", "replicas=12"}, []float64{12}},
		"--set of another leaves this one": {"    params: {replicas: 8}\n", []string{"ramp=2s"}, []float64{8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planOf(t, head+c.body, plan.Overrides{Set: c.set})
			var got []float64
			for _, cell := range p.Cells {
				got = append(got, param(t, cell, "replicas").(float64))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("replicas %v, want %v", got, c.want)
			}
		})
	}
}

func TestOverridesReachTheCells(t *testing.T) {
	t.Parallel()
	two := head + "    matrix: {argo-rollouts: [v1.8.2, v1.9.2], routing: [services, subsets]}\n  - name: rollback-window-abort\n    label: way out\n"
	for name, c := range map[string]struct {
		o    plan.Overrides
		want []string
	}{
		"none": {plan.Overrides{}, []string{
			"rollback-window[argo-rollouts=v1.8.2,routing=services] v1.8.2 x1", "rollback-window[argo-rollouts=v1.8.2,routing=subsets] v1.8.2 x1",
			"rollback-window[argo-rollouts=v1.9.2,routing=services] v1.9.2 x1", "rollback-window[argo-rollouts=v1.9.2,routing=subsets] v1.9.2 x1",
			"rollback-window-abort[way out] v1.8.2 x1",
		}},
		"a version replaces the matrix of versions": {plan.Overrides{Versions: []string{"argo-rollouts=v1.10.1"}}, []string{
			"rollback-window[argo-rollouts=v1.10.1,routing=services] v1.10.1 x1", "rollback-window[argo-rollouts=v1.10.1,routing=subsets] v1.10.1 x1",
			"rollback-window-abort[way out,argo-rollouts=v1.10.1] v1.10.1 x1",
		}},
		"a directory": {plan.Overrides{Versions: []string{"argo-rollouts=../fork@v1.8.2"}, Set: []string{"routing=services"}}, []string{
			"rollback-window[argo-rollouts=../fork@v1.8.2] ../fork@v1.8.2 x1", "rollback-window-abort[way out,argo-rollouts=../fork@v1.8.2] ../fork@v1.8.2 x1",
		}},
		"repetitions": {plan.Overrides{Repeat: 7, Set: []string{"routing=services"}, Versions: []string{"argo-rollouts=v1.8.2"}}, []string{
			"rollback-window[argo-rollouts=v1.8.2] v1.8.2 x7", "rollback-window-abort[way out,argo-rollouts=v1.8.2] v1.8.2 x7",
		}},
		"a parameter that only one scenario has": {plan.Overrides{Set: []string{"atWeight=5", "routing=services"}, Versions: []string{"argo-rollouts=v1.8.2"}}, []string{
			"rollback-window[argo-rollouts=v1.8.2] v1.8.2 x1", "rollback-window-abort[way out,argo-rollouts=v1.8.2] v1.8.2 x1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, cell := range planOf(t, two, c.o).Cells {
				got = append(got, fmt.Sprintf("%s %s x%d", cell.Name, cell.Versions["argo-rollouts"], cell.Repeat))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("cells\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

func TestKubernetesVersion(t *testing.T) {
	t.Parallel()
	drill := strings.Replace(head, "spec:\n", "spec:\n  cluster: {kubernetes: v1.36.0}\n", 1)
	for name, c := range map[string]struct {
		text string
		o    plan.Overrides
		want string
	}{
		"the drill's":                    {drill, plan.Overrides{}, "v1.36.0"},
		"the command line's, over it":    {drill, plan.Overrides{Versions: []string{"kubernetes=v1.35.1"}}, "v1.35.1"},
		"the command line's on its own":  {head, plan.Overrides{Versions: []string{"kubernetes=v1.35.1"}}, "v1.35.1"},
		"the pinned one without a word":  {head, plan.Overrides{}, planOf(t, head, plan.Overrides{}).Cells[0].Versions["kubernetes"]},
		"by the short flag":              {drill, plan.Overrides{Kubernetes: "v1.35.1"}, "v1.35.1"},
		"that of a directory, as it is ": {head, plan.Overrides{Versions: []string{"kubernetes=./k@v1.35.1"}}, "./k@v1.35.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := planOf(t, c.text, c.o).Cells[0].Versions["kubernetes"]; got != c.want || got == "" {
				t.Errorf("kubernetes %q, want %q", got, c.want)
			}
		})
	}
}

func TestControllerManagerIsNamedWhereItDiffers(t *testing.T) {
	t.Parallel()
	skewed := strings.Replace(head, "spec:\n", "spec:\n  cluster: {kubernetes: v1.37.2, controllerManager: v1.36.3}\n", 1)
	same := strings.Replace(head, "spec:\n", "spec:\n  cluster: {kubernetes: v1.36.3, controllerManager: v1.36.3}\n", 1)
	matrix := head + "    matrix: {kubernetes: [v1.37.2, v1.36.3], kube-controller-manager: [v1.36.3]}\n"
	for name, c := range map[string]struct {
		text string
		o    plan.Overrides
		want []string
	}{
		"nowhere":                      {head, plan.Overrides{Kubernetes: "v1.34.2"}, []string{"rollback-window[kubernetes=v1.34.2] v1.34.2 "}},
		"the drill's":                  {skewed, plan.Overrides{}, []string{"rollback-window v1.37.2 v1.36.3"}},
		"the drill's, no other":        {same, plan.Overrides{}, []string{"rollback-window v1.36.3 "}},
		"the drill's, with a flag's":   {skewed, plan.Overrides{Kubernetes: "v1.37.1"}, []string{"rollback-window[kubernetes=v1.37.1] v1.37.1 v1.36.3"}},
		"the flag's, over the drill's": {skewed, plan.Overrides{Versions: []string{"kube-controller-manager=v1.37.2"}}, []string{"rollback-window[kube-controller-manager=v1.37.2] v1.37.2 "}},
		"a directory, by its release":  {skewed, plan.Overrides{Versions: []string{"kube-controller-manager=./k@v1.36.1"}}, []string{"rollback-window[kube-controller-manager=./k@v1.36.1] v1.37.2 ./k@v1.36.1"}},
		"one directory for all of it":  {head, plan.Overrides{Kubernetes: "./k", Versions: []string{"kube-controller-manager=./k"}}, []string{"rollback-window[kubernetes=./k,kube-controller-manager=./k] ./k "}},
		"the matrix's, over the drill's": {strings.Replace(matrix, "spec:\n", "spec:\n  cluster: {kubernetes: v1.30.0, controllerManager: v1.29.6}\n", 1), plan.Overrides{}, []string{
			"rollback-window[kubernetes=v1.37.2,kube-controller-manager=v1.36.3] v1.37.2 v1.36.3",
			"rollback-window[kubernetes=v1.36.3,kube-controller-manager=v1.36.3] v1.36.3 ",
		}},
		"the flag's, over the matrix's": {matrix, plan.Overrides{Kubernetes: "v1.37.0"}, []string{"rollback-window[kubernetes=v1.37.0,kube-controller-manager=v1.36.3] v1.37.0 v1.36.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, cell := range planOf(t, c.text, c.o).Cells {
				got = append(got, fmt.Sprintf("%s %s %s", cell.Name, cell.Versions["kubernetes"], cell.Versions["kube-controller-manager"]))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("cells\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestVersionSkewPolicy(t *testing.T) {
	t.Parallel()
	for pair, allowed := range map[[2]string]string{
		{"v1.37.2", "v1.37.0"}:          "",
		{"v1.37.0", "v1.37.2"}:          "", // patch releases do not count
		{"v1.37.2", "v1.36.3"}:          "",
		{"v1.37.0-rc.1", "v1.36.3"}:     "",
		{"v1.30.4", "v1.29.6"}:          "",
		{"./k@v1.37.2", "./k2@v1.36.3"}: "",
		{"v1.37.2", "v1.38.0"}:          "v1.37 and v1.36",
		{"v1.37.2", "v1.35.4"}:          "v1.37 and v1.36",
		{"v1.37.2", "v2.36.0"}:          "v1.37 and v1.36",
		{"v2.0.0", "v1.99.0"}:           "v2.0",
		{"./k@v1.37.2", "v1.38.0"}:      "v1.37 and v1.36",
	} {
		o := plan.Overrides{Kubernetes: pair[0], Versions: []string{"kube-controller-manager=" + pair[1]}}
		_, err := plan.New(load(t, head), o)
		if allowed == "" && err != nil || allowed != "" && (err == nil || !strings.HasSuffix(err.Error(), "allows "+allowed)) {
			t.Errorf("%v: %v, want allowed %q", pair, err, allowed)
		}
	}
	_, err := plan.New(load(t, head), plan.Overrides{Versions: []string{"kube-controller-manager=./k"}})
	if want := "--version kube-controller-manager=./k: kube-controller-manager=./k: which release is the directory based on? Say ./k@v1.37.2 or the like, so that the version skew can be checked"; fmt.Sprint(err) != want {
		t.Errorf("error\n got %v\nwant %s", err, want)
	}
}

func TestForbiddenSkewIsBlamedOnItsSource(t *testing.T) {
	t.Parallel()
	const why = "kube-controller-manager v1.35.4 cannot run against the kube-apiserver of kubernetes v1.37.2: the version skew policy of Kubernetes allows v1.37 and v1.36"
	field := strings.Replace(head, "spec:\n", "spec:\n  cluster:\n    controllerManager: v1.35.4\n    kubernetes: v1.36.3\n", 1)
	for name, c := range map[string]struct {
		text string
		o    plan.Overrides
		want string
	}{
		"the drill's field":        {strings.Replace(field, "v1.36.3", "v1.37.2", 1), plan.Overrides{}, "d.yaml:6: spec.cluster.controllerManager: " + why},
		"a matrix of kubernetes":   {field + "    matrix:\n      kubernetes: [v1.36.1, v1.37.2]\n", plan.Overrides{}, "d.yaml:11: spec.scenarios[0].matrix.kubernetes[1]: " + why},
		"a matrix of both":         {head + "    matrix:\n      kubernetes: [v1.37.2]\n      kube-controller-manager:\n      - v1.36.3\n      - v1.35.4\n", plan.Overrides{}, "d.yaml:11: spec.scenarios[0].matrix.kube-controller-manager[1]: " + why},
		"the flag for kubernetes":  {field, plan.Overrides{Kubernetes: "v1.37.2"}, "--kubernetes v1.37.2: " + why},
		"the flag for the manager": {field, plan.Overrides{Kubernetes: "v1.37.2", Versions: []string{"kube-controller-manager=v1.35.4"}}, "--version kube-controller-manager=v1.35.4: " + why},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := plan.New(load(t, c.text), c.o); fmt.Sprint(err) != c.want {
				t.Errorf("error\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestBadWishesAreRefused(t *testing.T) {
	t.Parallel()
	const names = "replicas, minPodsPerReplicaSet, steps, routing, rollbackWindow, scaleDownDelaySeconds, dynamicStableScale, oldReplicaSet, ramp, quiet, rate, concurrency, work"
	for name, c := range map[string]struct {
		o    plan.Overrides
		want string
	}{
		"unknown parameter":            {plan.Overrides{Set: []string{"replica=5"}}, `--set replica=5: no parameter "replica", did you mean "replicas"?; there are ` + names},
		"no equals sign":               {plan.Overrides{Set: []string{"replicas"}}, `--set replicas: expected PARAMETER=VALUE with a parameter of ` + names},
		"wrong type":                   {plan.Overrides{Set: []string{"replicas=many"}}, `--set replicas=many: replicas: expected a whole number, got "many"`},
		"no value":                     {plan.Overrides{Set: []string{"replicas="}}, `--set replicas=: replicas: the value is missing: give one, or leave the field out`},
		"no YAML":                      {plan.Overrides{Set: []string{"steps=[5"}}, `--set steps=[5: bad YAML: sequence end token ']' not found`},
		"two fields in one":            {plan.Overrides{Set: []string{"replicas=5\nramp: 2s"}}, `--set replicas=5 ramp: 2s: "5\nramp: 2s" is no YAML value`},
		"out of bounds":                {plan.Overrides{Set: []string{"replicas=501"}}, `--set replicas=501: replicas: 501 is too large, expected 0 to 500`},
		"a step out of bounds":         {plan.Overrides{Set: []string{"steps=[5, 101]"}}, `--set steps=[5, 101]: steps[1].setWeight: 101 is no weight, expected 0 to 100`},
		"a value that does not fit":    {plan.Overrides{Set: []string{"minPodsPerReplicaSet=30"}}, `--set minPodsPerReplicaSet=30: minPodsPerReplicaSet: 30 is more than the 20 replicas: Argo Rollouts v1.8.2 never calls such a Rollout healthy (v1.10 and later do), so the set-up could not end`},
		"unknown component":            {plan.Overrides{Versions: []string{"argo-rollout=v1.8.2"}}, `--version argo-rollout=v1.8.2: no component "argo-rollout", did you mean "argo-rollouts"?; there are argo-rollouts, kubernetes, kube-controller-manager`},
		"a version on its own":         {plan.Overrides{Versions: []string{"v1.8.2"}}, `--version v1.8.2: expected COMPONENT=VERSION or COMPONENT=DIRECTORY with a component of argo-rollouts, kubernetes, kube-controller-manager`},
		"a version without its v":      {plan.Overrides{Versions: []string{"argo-rollouts=1.8.2"}}, `--version argo-rollouts=1.8.2: "1.8.2" is no version, did you mean "v1.8.2"?`},
		"a directory of no release":    {plan.Overrides{Versions: []string{"argo-rollouts=../fork@main"}}, `--version argo-rollouts=../fork@main: "main" is no version, expected one such as v1.8.2, or a directory`},
		"a short flag without its v":   {plan.Overrides{Kubernetes: "1.34.2"}, `--kubernetes 1.34.2: "1.34.2" is no version, did you mean "v1.34.2"?`},
		"kubernetes by both flags":     {plan.Overrides{Kubernetes: "v1.34.2", Versions: []string{"kubernetes=v1.34.2"}}, `--kubernetes v1.34.2: kubernetes is given twice; a matrix of versions belongs into a drill file`},
		"a controller manager too new": {plan.Overrides{Kubernetes: "v1.34.2", Versions: []string{"kube-controller-manager=v1.36.3"}}, `--version kube-controller-manager=v1.36.3: kube-controller-manager v1.36.3 cannot run against the kube-apiserver of kubernetes v1.34.2: the version skew policy of Kubernetes allows v1.34 and v1.33`},
		"unknown provider":             {plan.Overrides{Provider: "embed"}, `--provider: unknown provider "embed", did you mean "embedded"?; there are embedded, kind`},
		"fewer than no repetitions":    {plan.Overrides{Repeat: -1}, `--repeat: -1 is no number of repetitions, expected 1 to 1000`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for source, d := range map[string]*drills.Drill{"file": load(t, head), "scenario": drills.ForScenario("rollback-window")} {
				if _, err := plan.New(d, c.o); fmt.Sprint(err) != c.want {
					t.Errorf("drill from a %s: error\n got %v\nwant %s", source, err, c.want)
				}
			}
		})
	}
}

func TestAValueThatDoesNotFitIsBlamedOnItsSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"params":     {"    params:\n      ramp: 1ms\n", `d.yaml:8: spec.scenarios[0].params.ramp: expected 200ms, which a controller on a busy machine still follows, to 1h, got 1ms`},
		"the matrix": {"    params: {ramp: 1s}\n    matrix:\n      ramp:\n      - 1s\n      - 1ms\n", `d.yaml:11: spec.scenarios[0].matrix.ramp[1]: expected 200ms, which a controller on a busy machine still follows, to 1h, got 1ms`},
		"a step of the matrix": {"    matrix:\n      steps:\n      - [5]\n      - - 5\n        - pause 1500ms\n",
			`d.yaml:11: spec.scenarios[0].matrix.steps[1][1].pause.duration: 1.5s is no whole number of seconds, which is what Rollouts counts in`},
		"the nearest part of the file, when a default does not fit": {"    params: {minPodsPerReplicaSet: 1}\n    matrix: {replicas: [1], oldReplicaSet: [running]}\n",
			`d.yaml:7: spec.scenarios[0].params.scaleDownDelaySeconds: 1 is too short for oldReplicaSet: running, expected at least 30`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := plan.New(load(t, head+c.body), plan.Overrides{}); fmt.Sprint(err) != c.want {
				t.Errorf("error\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	same := planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{})
	for name, p := range map[string]*plan.Plan{
		"written anew":                planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{}),
		"in another order":            planOf(t, head+"    params:\n      ramp: 1000ms\n      replicas: 8\n", plan.Overrides{}),
		"the default spelled out":     planOf(t, head+"    params: {replicas: 8, quiet: 10s}\n", plan.Overrides{}),
		"the value from --set":        planOf(t, head, plan.Overrides{Set: []string{"replicas=8"}}),
		"the repetitions spelled out": planOf(t, strings.Replace(head, "spec:\n", "spec:\n  repeat: 1\n", 1)+"    params: {replicas: 8}\n", plan.Overrides{}),
	} {
		if p.Hash() != same.Hash() {
			t.Errorf("the same plan, %s, has another hash", name)
		}
	}
	hashes := map[string]string{same.Hash(): "the plan itself"}
	for name, p := range map[string]*plan.Plan{
		"a parameter":   planOf(t, head+"    params: {replicas: 9, ramp: 1s}\n", plan.Overrides{}),
		"a version":     planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{Versions: []string{"argo-rollouts=v1.9.2"}}),
		"kubernetes":    planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{Versions: []string{"kubernetes=v1.36.0"}}),
		"the manager":   planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{Versions: []string{"kube-controller-manager=v1.36.3"}}),
		"a guard":       planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n    guards: {overload: 2}\n", plan.Overrides{}),
		"the gate":      planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n  gate: {guards: fail}\n", plan.Overrides{}),
		"repetitions":   planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n", plan.Overrides{Repeat: 2}),
		"nodes":         planOf(t, strings.Replace(head, "spec:\n", "spec:\n  cluster: {nodes: 5}\n", 1)+"    params: {replicas: 8}\n", plan.Overrides{}),
		"a second cell": planOf(t, head+"    params: {replicas: 8, ramp: 1s}\n  - name: rollback-window\n", plan.Overrides{}),
	} {
		if other, ok := hashes[p.Hash()]; ok {
			t.Errorf("%s differs, but the hash is that of %s", name, other)
		}
		hashes[p.Hash()] = name
	}
}

func TestWhoSharesACluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scenario, params string
		want             bool
	}{
		"without components":             {"rolling-update", "", true},
		"another one":                    {"single-replica-restart", "", true},
		"with a component":               {"rollback-window", "", false},
		"with a component, small":        {"rollback-window", "replicas: 2", false},
		"with a component, of the abort": {"rollback-window-abort", "", false},
		"large, nearly":                  {"rolling-update", "replicas: 199", true},
		"large":                          {"rolling-update", "replicas: 200", false},
		"larger":                         {"rolling-update", "replicas: 201", false},
		"large at the end":               {"rolling-update", "meanwhile: scale, scaleTo: 200", false},
		"large in the middle":            {"scaling", "sizes: [1, 200, 1]", false},
		"large in the middle, nearly":    {"scaling", "sizes: [1, 199, 1]", true},
		"large at the beginning":         {"scaling", "replicas: 200, sizes: [0]", false},
		"large with revisions":           {"revisions", "replicas: 200", false},
		"revisions":                      {"revisions", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell := planOf(t, strings.Replace(head, "rollback-window", c.scenario, 1)+"    params: {"+c.params+"}\n", plan.Overrides{}).Cells[0]
			if cell.SharesCluster != c.want {
				t.Errorf("shares a cluster: %t, want %t", cell.SharesCluster, c.want)
			}
		})
	}
}

// TestAClusterOfItsOwnTakesItsTime: a run that shares a cluster does not wait for
// one to come up.
func TestAClusterOfItsOwnTakesItsTime(t *testing.T) {
	t.Parallel()
	p := planOf(t, strings.Replace(head, "rollback-window", "rolling-update", 1)+"    params: {startup: 1s}\n    matrix: {replicas: [199, 200]}\n", plan.Overrides{})
	shared, own := p.Cells[0], p.Cells[1]
	if !shared.SharesCluster || own.SharesCluster || own.Expected()-shared.Expected() < 5*time.Second {
		t.Errorf("199 pods take %s (shared: %t), 200 pods %s (shared: %t)", shared.Expected(), shared.SharesCluster, own.Expected(), own.SharesCluster)
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	four := strings.Replace(head, "spec:\n", "spec:\n  parallel: 4\n", 1)
	for name, c := range map[string]struct {
		d    *drills.Drill
		o    int
		want int
		err  string
	}{
		"one at a time without a word":   {load(t, head), 0, 1, ""},
		"as the drill says":              {load(t, four), 0, 4, ""},
		"the most that a drill can say":  {load(t, strings.Replace(four, "4", "64", 1)), 0, 64, ""},
		"the command line's on its own":  {load(t, head), 3, 3, ""},
		"the command line's, over it":    {load(t, four), 1, 1, ""},
		"the most":                       {load(t, four), 64, 64, ""},
		"a scenario without a file":      {drills.ForScenario("rolling-update"), 0, 1, ""},
		"the same with the command line": {drills.ForScenario("rolling-update"), 8, 8, ""},
		"too many":                       {load(t, four), 65, 0, "--parallel: 65 is no number of runs at a time, expected 1 to 64"},
		"fewer than none":                {load(t, four), -1, 0, "--parallel: -1 is no number of runs at a time, expected 1 to 64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.New(c.d, plan.Overrides{Parallel: c.o})
			if c.err != "" {
				if fmt.Sprint(err) != c.err {
					t.Errorf("error\n got %v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Parallel != c.want {
				t.Errorf("%d runs at a time, want %d", p.Parallel, c.want)
			}
		})
	}
}

func TestHashDoesNotDependOnParallel(t *testing.T) {
	t.Parallel()
	one := planOf(t, head, plan.Overrides{})
	for name, p := range map[string]*plan.Plan{
		"the drill's":        planOf(t, strings.Replace(head, "spec:\n", "spec:\n  parallel: 4\n", 1), plan.Overrides{}),
		"the command line's": planOf(t, head, plan.Overrides{Parallel: 4}),
	} {
		if p.Parallel != 4 || p.Hash() != one.Hash() {
			t.Errorf("%s: %d at a time, hash %s, want that of one at a time, %s", name, p.Parallel, p.Hash(), one.Hash())
		}
	}
}

func TestCellsThatLookAlikeAreNumbered(t *testing.T) {
	t.Parallel()
	p := planOf(t, head+"    matrix: {argo-rollouts: [v1.8.2, v1.8.2]}\n  - name: rollback-window\n  - name: rollback-window\n    params: {replicas: 4}\n  - name: rollback-window\n", plan.Overrides{})
	var got []string
	slugs := map[string]bool{}
	for _, c := range p.Cells {
		got = append(got, c.Name)
		slugs[c.Slug()] = true
	}
	want := []string{"rollback-window[argo-rollouts=v1.8.2]", "rollback-window[argo-rollouts=v1.8.2]#2", "rollback-window", "rollback-window#2", "rollback-window#3"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if len(slugs) != len(got) {
		t.Errorf("file names are not distinct: %v", slices.Sorted(maps.Keys(slugs)))
	}
}

func TestVersionsOfDirectories(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]struct{ dir, version, model string }{
		"v1.8.2":             {"", "v1.8.2", "v1.8.2"},
		"../fork":            {"../fork", "", "../fork"},
		"../fork@v1.8.2":     {"../fork", "v1.8.2", "v1.8.2"},
		"/src/argo-rollouts": {"/src/argo-rollouts", "", "/src/argo-rollouts"},
		".@v1.9.0-rc1":       {".", "v1.9.0-rc1", "v1.9.0-rc1"},
		"forks/mine@v1.10.1": {"forks/mine", "v1.10.1", "v1.10.1"},
	} {
		if dir, version := plan.SplitVersion(v); dir != want.dir || version != want.version {
			t.Errorf("SplitVersion(%q) = %q, %q", v, dir, version)
		}
		if got := plan.ModelVersions(map[string]string{"c": v})["c"]; got != want.model {
			t.Errorf("ModelVersions of %q = %q, want %q", v, got, want.model)
		}
	}
}

func TestExpectedTimeAddsUp(t *testing.T) {
	t.Parallel()
	p := planOf(t, head+"    matrix: {replicas: [4, 8]}\n", plan.Overrides{Repeat: 3, Set: []string{"ramp=2s"}})
	if a, b := p.Cells[0].Expected(), p.Cells[1].Expected(); b-a != 8*time.Second || p.Expected() != 3*(a+b) {
		t.Errorf("cells %s and %s, plan %s", a, b, p.Expected())
	}
}

// TestExpectedTimeWithRunsSideBySide: the runs share the time, but none is done
// before the longest.
func TestExpectedTimeWithRunsSideBySide(t *testing.T) {
	t.Parallel()
	cells := func(seconds ...float64) []plan.Cell {
		var out []plan.Cell
		for _, s := range seconds {
			out = append(out, plan.Cell{ExpectedSec: s, Repeat: 1})
		}
		return out
	}
	repeated := cells(10, 20)
	repeated[0].Repeat = 6
	for name, c := range map[string]struct {
		plan plan.Plan
		want time.Duration
	}{
		"nothing":                       {plan.Plan{Parallel: 4}, 0},
		"one at a time":                 {plan.Plan{Parallel: 1, Cells: cells(10, 20, 30)}, 60 * time.Second},
		"not said":                      {plan.Plan{Cells: cells(10, 20, 30)}, 60 * time.Second},
		"two at a time":                 {plan.Plan{Parallel: 2, Cells: cells(10, 20, 30)}, 30 * time.Second},
		"more at a time than there are": {plan.Plan{Parallel: 64, Cells: cells(10, 20, 30)}, 30 * time.Second},
		"one that is longer than all":   {plan.Plan{Parallel: 3, Cells: cells(10, 20, 90)}, 90 * time.Second},
		"repetitions":                   {plan.Plan{Parallel: 2, Cells: repeated}, 40 * time.Second},
		"repetitions of one cell":       {plan.Plan{Parallel: 8, Cells: repeated}, 20 * time.Second},
	} {
		if got := c.plan.Expected(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCellsOfOneClusterComeTogether(t *testing.T) {
	t.Parallel()
	cell := func(name, provider string, shares bool, versions ...string) plan.Cell {
		v := map[string]string{}
		for _, kv := range versions {
			component, version, _ := strings.Cut(kv, "=")
			v[component] = version
		}
		return plan.Cell{Name: name, Provider: provider, SharesCluster: shares, Versions: v}
	}
	for name, c := range map[string]struct {
		cells []plan.Cell
		want  string
	}{
		"versions in turns": {[]plan.Cell{
			cell("a", "kind", true, "k=v1"), cell("b", "kind", true, "k=v2"), cell("c", "kind", true, "k=v1"), cell("d", "kind", true, "k=v2")}, "a c b d"},
		"pods put up with more in the cluster": {[]plan.Cell{
			cell("a", "kind", true, "k=v1", "istiod=v1"), cell("b", "kind", true, "k=v2"), cell("c", "kind", true, "k=v1")}, "a c b"},
		"processes do not": {[]plan.Cell{
			cell("a", "embedded", true, "k=v1", "istiod=v1"), cell("b", "embedded", true, "k=v2"), cell("c", "embedded", true, "k=v1")}, "a b c"},
		"clusters of their own stay where they are": {[]plan.Cell{
			cell("a", "embedded", false, "k=v1"), cell("b", "embedded", false, "k=v2"), cell("c", "embedded", false, "k=v1")}, "a b c"},
		"nothing": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(c.cells)
			var got []string
			for _, cell := range plan.ByCluster(c.cells) {
				got = append(got, cell.Name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, want %s", strings.Join(got, " "), c.want)
			}
			for i := range before {
				if before[i].Name != c.cells[i].Name {
					t.Error("the plan itself was put in another order")
				}
			}
		})
	}
}

// on begins a drill on a cluster with one scenario.
func on(cluster, scenario string) string {
	return "apiVersion: reckon/v1\nkind: Drill\nmetadata: {name: d}\nspec:\n  cluster: " + cluster + "\n  scenarios:\n  - " + scenario + "\n"
}

func TestWhatAProviderCannotDoIsRefusedWhenPlanning(t *testing.T) {
	t.Parallel()
	const restart, rollback = "{name: single-replica-restart}", "{name: rollback-window}"
	for name, c := range map[string]struct {
		text string
		o    plan.Overrides
		want string // "": it is planned
	}{
		"an option for an image":                    {on("{provider: kind}", restart), plan.Overrides{NodeImage: "--privileged"}, `--node-image: "--privileged" is no image of nodes`},
		"an image for simulated nodes":              {on("{provider: embedded, nodeImage: build}", restart), plan.Overrides{}, "d.yaml:5: spec.cluster.nodeImage: means nothing to the provider embedded"},
		"workers of simulated nodes":                {on("{provider: embedded, workers: 2}", restart), plan.Overrides{}, "d.yaml:5: spec.cluster.workers: means nothing to the provider embedded"},
		"simulated nodes on real ones":              {on("{provider: kind, nodes: 2}", restart), plan.Overrides{}, "d.yaml:5: spec.cluster.nodes: means nothing to the provider kind"},
		"an image, and another provider by flag":    {on("{provider: kind, nodeImage: build}", restart), plan.Overrides{Provider: "embedded"}, ""},
		"sources of Kubernetes for real nodes":      {on("{provider: kind}", restart), plan.Overrides{Kubernetes: "./k@v1.37.2"}, "--kubernetes ./k@v1.37.2: provider kind runs a release of Kubernetes"},
		"istiod where there is none":                {on("{provider: embedded}", "{name: rollback-window, matrix: {istiod: [v1.27.0]}}"), plan.Overrides{}, "spec.scenarios[0].matrix.istiod: istiod takes no part in scenario rollback-window with the provider embedded; the components there are argo-rollouts, kubernetes, kube-controller-manager"},
		"more pods than a node takes":               {on("{provider: kind}", rollback), plan.Overrides{Set: []string{"replicas=48"}}, "replicas: up to 96 pods at a time, and 1 node(s) of provider kind take 95"},
		"as many pods as a node takes":              {on("{provider: kind}", rollback), plan.Overrides{Set: []string{"replicas=47"}}, ""},
		"more pods than a worker takes":             {on("{provider: kind, workers: 1}", rollback), plan.Overrides{Set: []string{"replicas=48"}}, "1 node(s) of provider kind take 95"},
		"two workers take more":                     {on("{provider: kind, workers: 2}", rollback), plan.Overrides{Set: []string{"replicas=48"}}, ""},
		"simulated nodes take any":                  {on("{provider: embedded}", rollback), plan.Overrides{Set: []string{"replicas=400"}}, ""},
		"an update with its surge":                  {on("{provider: kind}", "{name: rolling-update, params: {replicas: 80, maxSurge: 20%}}"), plan.Overrides{}, "replicas: up to 96 pods at a time"},
		"the least surge of as many":                {on("{provider: kind}", "{name: rolling-update, params: {replicas: 80, maxSurge: 1}}"), plan.Overrides{}, ""},
		"more surge than there are pods to replace": {on("{provider: kind}", "{name: rolling-update, params: {replicas: 4, maxSurge: 500}}"), plan.Overrides{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.New(load(t, c.text), c.o)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestJoinAlternatesAndTellsNamesApart(t *testing.T) {
	t.Parallel()
	cells := func(names ...string) *plan.Plan {
		p := &plan.Plan{Drill: "d", Parallel: len(names)}
		for _, n := range names {
			p.Cells = append(p.Cells, plan.Cell{Name: n})
		}
		return p
	}
	joined, of := plan.Join(cells("a", "b", "b#2"), cells("a", "b"), cells())
	var names []string
	for _, c := range joined.Cells {
		names = append(names, c.Name)
	}
	if want := []string{"a", "a#2", "b", "b#2", "b#2#2"}; !slices.Equal(names, want) || !slices.Equal(of, []int{0, 1, 0, 1, 0}) {
		t.Errorf("cells %q of %v, want %q", names, of, want)
	}
	if joined.Drill != "d" || joined.Parallel != 3 {
		t.Errorf("drill %q with %d at a time", joined.Drill, joined.Parallel)
	}
}
