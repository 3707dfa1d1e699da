package istiodthrottle_test

import (
	"testing"
	"time"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/scenarios/controlplane"
)

// recorded is a real istiod with a limit of 600m.
const recorded = "../../results/baselines/istiod-throttle-small-pushes-cpu-600m-1"

// Kubelets read the counts of a pod every ten seconds.
func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, recorded, "testdata/kind")
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	times := func(series string, factor float64) func(tp *doctored.Tape) {
		return func(tp *doctored.Tape) {
			for i := range tp.Facts {
				if s := tp.Facts[i].Sample; s != nil && s.Series == series {
					s.Value *= factor
				}
			}
		}
	}
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"GOMAXPROCS is twice the limit": {times("go_sched_gomaxprocs_threads", 2), "gomaxprocs"},
		"admissions take half as long": {func(tp *doctored.Tape) {
			begin := tp.Facts[tp.StepBegin(controlplane.StepConnect)].T
			for i := range tp.Facts {
				if c := tp.Facts[i].Connection; c != nil && c.AtNS > begin && c.AtNS < begin+int64(20*time.Second) {
					c.AtNS = begin + (c.AtNS-begin)/2
				}
			}
		}, "admissions"},
		"the kernel enforces no limit":    {times(recording.CPUPeriods, 0), "in-force"},
		"four times as much is used":      {times(recording.CPUUse, 4), "capped"},
		"twice as many are throttled":     {times(recording.CPUThrottled, 2), "throttled"},
		"nothing was used when throttled": {times(recording.CPUUse, 0.3), "throttled"},
	} {
		doctored.AlterBreaks(t, name, recorded, c.alter, c.claim)
	}
}
