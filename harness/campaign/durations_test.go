package campaign_test

import (
	"encoding/json"
	"testing"
	"time"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
)

func cellOf(scenario, params string, expected float64) plan.Cell {
	return plan.Cell{Name: scenario + params, Scenario: scenario, Params: json.RawMessage(params), Provider: "embedded", ExpectedSec: expected}
}

func TestTheNearestRunsTellHowLongOneTakes(t *testing.T) {
	t.Parallel()
	small, big, other := cellOf("scaling", `{"n":1}`, 10), cellOf("scaling", `{"n":2}`, 100), cellOf("eviction", `{}`, 10)
	add := func(d *campaign.Durations, c plan.Cell, seconds ...int) {
		for _, s := range seconds {
			d.Add(c, time.Duration(s)*time.Second)
		}
	}
	sec := func(low, median, high float64) campaign.Span {
		of := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		return campaign.Span{Low: of(low), Median: of(median), High: of(high)}
	}
	for name, c := range map[string]struct {
		measured func(*campaign.Durations)
		of       plan.Cell
		want     campaign.Span
	}{
		"what the plan says, where nothing ran": {func(*campaign.Durations) {}, big, sec(100, 100, 100)},
		"the cell's own": {func(d *campaign.Durations) {
			add(d, big, 120)
			add(d, small, 20, 20)
		}, big, sec(120, 120, 120)},
		"the cell's own, however its parameters are written": {func(d *campaign.Durations) { add(d, cellOf("scaling", "{\n \"n\": 2\n}", 100), 130) }, big, sec(130, 130, 130)},
		"those of its scenario, in proportion": {func(d *campaign.Durations) {
			add(d, small, 20)
			add(d, other, 10)
		}, big, sec(200, 200, 200)},
		"those of others, in proportion":      {func(d *campaign.Durations) { add(d, other, 15) }, big, sec(150, 150, 150)},
		"the median, between the quartiles":   {func(d *campaign.Durations) { add(d, small, 50, 10, 20, 1000, 40) }, small, sec(20, 40, 50)},
		"between two that were measured":      {func(d *campaign.Durations) { add(d, small, 10, 20) }, small, sec(12.5, 15, 17.5)},
		"nothing of a plan that says nothing": {func(d *campaign.Durations) { add(d, cellOf("scaling", `{"n":3}`, 0), 999) }, big, sec(100, 100, 100)},
	} {
		var d campaign.Durations
		c.measured(&d)
		if got := d.Of(c.of); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWhatIsLeftIsSharedByThoseThatRunAtATime(t *testing.T) {
	t.Parallel()
	run := func(expected float64, since time.Duration) campaign.Remaining {
		return campaign.Remaining{Cell: cellOf("scaling", `{}`, expected), Since: since}
	}
	for name, c := range map[string]struct {
		runs     []campaign.Remaining
		parallel int
		want     time.Duration
	}{
		"nothing":                      {nil, 1, 0},
		"one after the other":          {[]campaign.Remaining{run(10, 0), run(20, 0)}, 1, 30 * time.Second},
		"two at a time":                {[]campaign.Remaining{run(10, 0), run(10, 0), run(20, 0)}, 2, 20 * time.Second},
		"the longest bounds it":        {[]campaign.Remaining{run(10, 0), run(50, 0)}, 2, 50 * time.Second},
		"what is under way is less":    {[]campaign.Remaining{run(10, 4*time.Second), run(20, 0)}, 1, 26 * time.Second},
		"what is late takes no time":   {[]campaign.Remaining{run(10, time.Hour), run(20, 0)}, 1, 20 * time.Second},
		"as many at a time as nothing": {[]campaign.Remaining{run(10, 0)}, 0, 10 * time.Second},
	} {
		var d campaign.Durations
		if got := d.Left(c.runs, c.parallel); got.Median != c.want || got.Low != c.want || got.High != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestEarlierRunsAreThoseWithAVerdict(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	c := begin(t, results)
	planned := campaign.Span{Low: c.Cells()[0].Expected(), Median: c.Cells()[0].Expected(), High: c.Cells()[0].Expected()}
	add(t, results, c, "1", engine.RecordingFile)
	if got := campaign.Earlier(results).Of(c.Cells()[0]); got != planned {
		t.Errorf("a run without a verdict counts: %v", got)
	}
	add(t, results, c, "2", engine.VerdictFile)
	if got := campaign.Earlier(results).Of(c.Cells()[0]); got == planned || got.Median <= 0 || got.Low != got.High {
		t.Errorf("one run with a verdict gives %v, the plan says %v", got, planned)
	}
}
