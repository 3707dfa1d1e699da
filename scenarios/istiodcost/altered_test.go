package istiodcost_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
)

// real is what two real istiods did with 50 proxies and 2,000 endpoints.
const real = "../../results/baselines/istiod-cost-grid-connections-50-endpoints-2000-1"

func TestARealRecordingPasses(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, real)
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	times := func(factor float64, series, label, value string) func(tp *doctored.Tape) {
		return func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if s := f.Sample; s != nil && s.Series == series && s.Labels[label] == value {
					other := *s
					other.Value *= factor
					tp.Facts[i].Sample = &other
				}
			}
		}
	}
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"the heap keeps what was sent":              {times(3, recording.LiveHeap, "at", "after the slow ramp"), "live-heap"},
		"the burst leaves a heap of its own":        {times(3, recording.LiveHeap, "at", "after the burst"), "live-heap-again"},
		"proxies that come slowly take ten times":   {times(10, recording.PeakMemory, "replica", "istiod-0"), "ramp"},
		"the push takes ten times":                  {times(10, recording.PeakMemory, "replica", "istiod-0"), "push"},
		"the burst takes ten times":                 {times(10, recording.PeakMemory, "replica", "istiod-1"), "burst"},
		"every second proxy is pushed to once more": {times(1.5, "pilot_xds_pushes", "replica", "istiod-0"), "answers"},
		"istiod knows half of the mesh":             {times(0.5, "pilot_services", "replica", "istiod-0"), "services"},
		"a proxy stays away": {func(tp *doctored.Tape) {
			tp.Keep(func(_ int, f *recording.Fact) bool {
				c := f.Connection
				return c == nil || c.Proxy != "proxy-00007" || c.Replica != "istiod-1" || c.Event == recording.Left
			})
		}, "connected-again"},
		"a proxy never comes": {func(tp *doctored.Tape) {
			tp.Keep(func(_ int, f *recording.Fact) bool { return f.Connection == nil || f.Connection.Proxy != "proxy-00007" })
		}, "connected"},
	} {
		doctored.AlterBreaks(t, name, real, c.alter, c.claim)
	}
}
