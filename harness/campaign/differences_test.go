package campaign_test

import (
	"errors"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
)

func TestWhatDiffersIsSaid(t *testing.T) {
	t.Parallel()
	const first = "rollback-window[argo-rollouts=v1.7.2,routing=services]"
	for name, c := range map[string]struct {
		today  plan.Overrides
		change func(m *campaign.Manifest, today *plan.Plan)
		want   string // empty: nothing differs
	}{
		"nothing":                     {},
		"how many at a time":          {today: plan.Overrides{Parallel: 4}},
		"how long it is said to take": {change: func(_ *campaign.Manifest, today *plan.Plan) { today.Cells[0].ExpectedSec *= 2 }},
		"a parameter":                 {today: plan.Overrides{Set: []string{"replicas=7"}}, want: "cell " + first + ": parameter replicas was 20 and is 7"},
		"a version that the drill pins": {change: func(_ *campaign.Manifest, today *plan.Plan) { today.Cells[0].Versions["kubernetes"] = "v1.34.2" },
			want: "cell " + first + ": kubernetes was v1.37.2 and is v1.34.2"},
		"a version that is in the cells' names": {today: plan.Overrides{Versions: []string{"argo-rollouts=v1.9.2"}}, want: "its drill has no cell " + first + " any more"},
		"repetitions":                           {today: plan.Overrides{Repeat: 3}, want: "cell " + first + ": repetitions was 1 and is 3"},
		"a cell that is new":                    {change: func(m *campaign.Manifest, _ *plan.Plan) { m.Plan.Cells = m.Plan.Cells[1:] }, want: "its drill has a cell " + first + " that it had not"},
		"the gate":                              {change: func(_ *campaign.Manifest, today *plan.Plan) { today.Cells[0].Gate.Guards = "fail" }, want: "cell " + first + ": gate of guards was report and is fail"},
		"a guard": {change: func(_ *campaign.Manifest, today *plan.Plan) {
			today.Cells[0].Guards = map[string]float64{"overload": 2}
		}, want: "cell " + first + ": guard overload was not there and is 2"},
		"the model":            {change: key(func(k *campaign.Key) { k.Model = "rollouts 1.8 as of yesterday" }), want: "cell " + cell + ": the model was rollouts 1.8 as of yesterday and is rollouts 1.8.0-1.8.2"},
		"a prediction":         {change: key(func(k *campaign.Key) { k.Claims["weights"] = "0 → 5" }), want: "cell " + cell + ": the prediction of claim weights was 0 → 5 and is 0 → 100 → 0"},
		"a claim that is gone": {change: key(func(k *campaign.Key) { k.Claims["peace"] = "always" }), want: "cell " + cell + ": the prediction of claim peace was always and is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := begin(t, t.TempDir())
			today := planOf(t, c.today)
			if c.change != nil {
				c.change(&held.Manifest, today)
			}
			err := held.Check(today)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := "the campaign " + held.ID + " cannot go on, begin another: " + c.want
			if _, ok := errors.AsType[*campaign.DiffersError](err); !ok || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
}

// key changes what a campaign's manifest has of the answer key.
func key(change func(*campaign.Key)) func(*campaign.Manifest, *plan.Plan) {
	return func(m *campaign.Manifest, _ *plan.Plan) {
		k := m.Keys[cell]
		change(&k)
		m.Keys[cell] = k
	}
}

// What a manifest says is the same when it is read again.
func TestAManifestThatIsReadAgainDiffersInNothing(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	begin(t, results).Release()
	c, err := campaign.Resume(results, campaign.Latest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if err := c.Check(planOf(t, plan.Overrides{})); err != nil {
		t.Error(err)
	}
	if c.PlanHash != planOf(t, plan.Overrides{}).Hash() {
		t.Errorf("plan hash %s", c.PlanHash)
	}
}

func TestOtherBinariesAreNotMixed(t *testing.T) {
	t.Parallel()
	fork := map[string]string{"argo-rollouts": "../fork@v1.8.2"}
	of := func(version string, digests map[string]string) []recording.Component {
		return []recording.Component{{Name: "argo-rollouts", Version: version, Digests: digests}}
	}
	for name, c := range map[string]struct {
		then, now         []recording.Component
		thenCell, nowCell map[string]string
		want              string
	}{
		"the same": {then: of("v1.8.2", map[string]string{"controller": "sha256:1"}), now: of("v1.8.2", map[string]string{"controller": "sha256:1"})},
		"built anew": {then: of("v1.8.2", map[string]string{"controller": "sha256:1"}), now: of("v1.8.2", map[string]string{"controller": "sha256:2"}),
			want: "argo-rollouts v1.8.2 is another binary: controller was sha256:1 and is sha256:2"},
		"a directory that was edited": {thenCell: fork, nowCell: fork, then: of("dir:1", map[string]string{"controller": "sha256:1"}), now: of("dir:2", map[string]string{"controller": "sha256:2"}),
			want: "argo-rollouts was dir:1 and is dir:2"},
		"another cell's version": {nowCell: fork, then: of("v1.8.2", map[string]string{"controller": "sha256:1"}), now: of("dir:2", map[string]string{"controller": "sha256:2"})},
		"what nodes bring along": {then: of("v1.37.1", nil), now: of("v1.37.2", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := campaign.Run{Cell: plan.Cell{Versions: c.thenCell}, Report: report.Run{Header: recording.Header{Components: c.then}}}
			next := campaign.Parts{Cell: plan.Cell{Versions: c.nowCell}, Components: c.now}
			err := (&campaign.Manifest{ID: "x"}).CheckBinaries([]campaign.Run{done, done}, []campaign.Parts{next, next})
			if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != "the campaign x cannot go on, begin another: "+c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
