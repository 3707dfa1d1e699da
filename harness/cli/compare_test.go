package cli_test

import (
	"strings"
	"testing"

	"reckon.dev/reckon/harness/cli"
	"reckon.dev/reckon/harness/golden"
)

const committed = "../../results/baselines"

func TestCompare(t *testing.T) {
	t.Parallel()
	versions := func(v string) string { return committed + "@drill=rollback-versions,argo-rollouts=" + v }
	for name, c := range map[string]struct {
		args           []string
		code           int
		golden, stderr string
	}{
		"a release against itself prints nothing": {
			args:   []string{versions("v1.8.2"), versions("v1.8.2")},
			stderr: "2 cells compared: no difference\n",
		},
		"two releases that differ": {
			args: []string{versions("v1.8.2"), versions("v1.8.3")}, code: 1, golden: "compare-releases",
			stderr: "2 cells compared: ",
		},
		"the same as Markdown": {
			args: []string{versions("v1.8.2"), versions("v1.8.3"), "-o", "markdown"}, code: 1, golden: "compare-markdown",
			stderr: "2 cells compared: ",
		},
		"halves of one version": {
			args: []string{committed + "@drill=istiod,repetition=odd", committed + "@drill=istiod,repetition=even"}, stderr: "3 cells compared: no difference",
		},
		"cells without a partner": {
			args: []string{committed + "@drill=rollback-versions,argo-rollouts=v1.8.2", committed + "/rollback-versions-rollback-window-argo-rollouts-v1.8.2-routing-services-1"},
			code: 3, golden: "compare-alone", stderr: "1 cell compared: no difference; 1 cell without a partner\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, append([]string{"compare"}, c.args...)...)
			if code != c.code || !strings.HasPrefix(stderr, c.stderr) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d, want %d; stderr %s", code, c.code, stderr)
			}
			if c.golden == "" {
				if stdout != "" {
					t.Errorf("printed\n%s", stdout)
				}
				return
			}
			golden.Check(t, c.golden+".golden", []byte(stdout))
		})
	}
}

// The page is whole: both timelines, and nothing that is fetched.
func TestCompareAsPage(t *testing.T) {
	t.Parallel()
	code, stdout, _ := inProcess(t, "compare", "-o", "html", committed+"@drill=rollback-versions,argo-rollouts=v1.8.2", committed+"@drill=rollback-versions,argo-rollouts=v1.9.2")
	if code != cli.ExitPass || strings.Contains(stdout, `class="chart"`) {
		t.Errorf("code %d of what does not differ, or a timeline of it", code)
	}
	code, stdout, _ = inProcess(t, "compare", "-o", "html", committed+"@drill=rollback-versions,argo-rollouts=v1.8.2", committed+"@drill=rollback-versions,argo-rollouts=v1.8.3")
	if n := strings.Count(stdout, `class="chart"`); code != cli.ExitFail || n != 2 || strings.Contains(stdout, "http") {
		t.Errorf("code %d, %d timelines", code, n)
	}
	for _, want := range []string{"claim exposure: ", "100, first at 2 available", "100, first at 1 available", "as both models predict, worse", "</html>"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q", want)
		}
	}
}

// The releases of results/baselines, in which the difference comes and goes.
func TestBisectOverRecordings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"the release in which it begins": {
			args: []string{"--set", "routing=subsets", "--good", "v1.7.2", "--bad", "v1.10.1"}, stdout: `argo-rollouts v1.7.2 to v1.10.1: 5 releases
v1.10.1    differs: rollback-window[routing=subsets]: claim exposure, 100, first at 1 available and 100, first at 2 available
v1.8.3     the same: 1 cell compared: no difference; too few runs to tell 2 measured numbers from chance (4 against 4 would do)
v1.9.2     differs: rollback-window[routing=subsets]: claim exposure, 100, first at 1 available and 100, first at 2 available
first release that differs: v1.9.2 (v1.8.3 is the last that does not)
`,
		},
		"ends that do not differ": {
			args: []string{"--set", "routing=services", "--good", "v1.7.2", "--bad", "v1.10.1"}, code: 3, stdout: `argo-rollouts v1.7.2 to v1.10.1: 5 releases
v1.10.1    the same: 1 cell compared: no difference; too few runs to tell 2 measured numbers from chance (4 against 4 would do)
`, stderr: "reckon: argo-rollouts v1.7.2 and v1.10.1 do not differ: there is nothing to find\n",
		},
		"a version without a recording": {
			args: []string{"--good", "v1.7.1", "--bad", "v1.10.1"}, code: 2,
			stderr: "reckon: --good: argo-rollouts v1.7.1 is not to be had, did you mean \"v1.7.2\"?; there are v1.7.2, v1.8.2, v1.8.3, v1.9.2, v1.10.1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, append([]string{"bisect", "scenario:rollback-window", "--baselines=" + committed}, c.args...)...)
			if code != c.code || stdout != c.stdout || stderr != c.stderr {
				t.Errorf("code %d, want %d; stderr %s\n%s", code, c.code, stderr, stdout)
			}
		})
	}
}
