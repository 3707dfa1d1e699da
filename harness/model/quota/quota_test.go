package quota_test

import (
	"encoding/json"
	"testing"
	"time"

	"reckon.dev/reckon/harness/model/quota"
)

const ms = time.Millisecond

func TestALimitReadsAsKubernetesWritesIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]quota.Limit{`"600m"`: 600, `1`: 1000, `"2"`: 2000, `"1.5"`: 1500, `0.6`: 600, `"1500m"`: 1500} {
		var l quota.Limit
		if err := json.Unmarshal([]byte(text), &l); err != nil || l != want {
			t.Errorf("%s is %d (%v), want %d", text, l, err, want)
		}
		raw, err := json.Marshal(l)
		var again quota.Limit
		if err != nil || json.Unmarshal(raw, &again) != nil || again != want {
			t.Errorf("%s is written as %s (%v), which is %d", text, raw, err, again)
		}
	}
	for _, text := range []string{`"600"m`, `""`, `"m"`, `-1`, `"-600m"`, `"0.6001"`, `null`, `true`, `{}`, `"1e3m"`, `"1Gi"`} {
		var l quota.Limit
		if err := json.Unmarshal([]byte(text), &l); err == nil {
			t.Errorf("%s is read as %d", text, l)
		}
	}
}

func TestWhatIsMadeOfALimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit                 quota.Limit
		chart, runtime2, many int
		quota                 time.Duration
	}{
		"600m: the chart has one, Go two": {600, 1, 2, 2, 60 * ms},
		"one core":                        {1000, 1, 2, 2, 100 * ms},
		"just above one":                  {1001, 2, 2, 2, 100*ms + 100*time.Microsecond},
		"two":                             {2000, 2, 2, 2, 200 * ms},
		"more than the machine has":       {3500, 4, 2, 4, 350 * ms},
	} {
		if c.limit.ChartProcs() != c.chart || c.limit.RuntimeProcs(2) != c.runtime2 || c.limit.RuntimeProcs(64) != c.many || c.limit.Quota() != c.quota {
			t.Errorf("%s: %d, %d, %d, %s", name, c.limit.ChartProcs(), c.limit.RuntimeProcs(2), c.limit.RuntimeProcs(64), c.limit.Quota())
		}
	}
	if got := quota.Limit(600).RuntimeProcs(1); got != 1 {
		t.Errorf("Go has %d processors on one CPU", got)
	}
}

func TestABurstTakesWhatTheLimitLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit quota.Limit
		work  time.Duration
		procs int
		want  quota.Burst
	}{
		"within one quota":                     {600, 50 * ms, 1, quota.Burst{Took: 50 * ms}},
		"exactly one quota, and nobody waits":  {600, 60 * ms, 1, quota.Burst{Took: 60 * ms}},
		"three quotas and a rest":              {600, 200 * ms, 1, quota.Burst{Took: 320 * ms, Throttled: 3}},
		"a limit of what its processors use":   {1000, 200 * ms, 1, quota.Burst{Took: 200 * ms}},
		"two processors use it up faster":      {600, 200 * ms, 2, quota.Burst{Took: 310 * ms, Throttled: 3}},
		"two processors with two cores":        {2000, 200 * ms, 2, quota.Burst{Took: 100 * ms}},
		"more limit than processors can spend": {2000, 200 * ms, 1, quota.Burst{Took: 200 * ms}},
	} {
		if got := c.limit.Burst(c.work, c.procs); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A use of 17.4 ms a period beside 30.9 % of throttled periods of 60 ms looks like a
// contradiction, and is none: not even on two CPUs.
func TestUseAndThrottlingOfTheIncidentFit(t *testing.T) {
	t.Parallel()
	minute := quota.Count{Span: time.Minute, Use: 10440 * ms, Periods: 600, Throttled: 185}
	for cpus, want := range map[int]int64{1: 175, 2: 191, 4: 234, 13: 600} {
		if got := (quota.Account{Limit: 600, CPUs: cpus}).Most(minute); got != want {
			t.Errorf("on %d CPUs %d of 600 periods can have been throttled, want %d", cpus, got, want)
		}
	}
}
