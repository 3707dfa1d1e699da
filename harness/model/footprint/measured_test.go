package footprint_test

import (
	"errors"
	"math"
	"testing"

	"reckon.dev/reckon/harness/model/footprint"
)

// measurements are what runs on the grid would have measured.
func measurements(peak law) []footprint.Measurement {
	live := law{14e6, 900, 24e3, 20}
	var out []footprint.Measurement
	for _, x := range grid() {
		if x.Connections == 0 {
			continue
		}
		idle := footprint.Load{Endpoints: x.Endpoints, Visible: x.Visible}
		out = append(out, footprint.Measurement{
			Load: x, Idle: peak.at(idle), LiveIdle: live.at(idle), LiveRamp: live.at(x), LiveBurst: live.at(x),
			Ramp: peak.at(x), Push: peak.at(x), Burst: peak.at(x),
		})
	}
	return out
}

func TestEachQuantityHasALawOfItsOwn(t *testing.T) {
	t.Parallel()
	all := measurements(typical)
	for i := range all {
		all[i].Ramp = law{116e6, 2000, 88e3, 83}.at(all[i].Load)
	}
	for q, want := range map[footprint.Quantity]float64{footprint.Live: 20, footprint.Ramp: 83, footprint.Push: 400, footprint.Burst: 400} {
		l, err := footprint.FitOf(q, all)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Coefficients[footprint.PerPair]; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: %g B a pair, want %g", q, got, want)
		}
	}
	if _, err := footprint.FitOf("latency", all); !errors.Is(err, footprint.ErrUnknownQuantity) {
		t.Errorf("error %v", err)
	}
	if _, err := footprint.FitOf(footprint.Burst, nil); !errors.Is(err, footprint.ErrTooFew) {
		t.Errorf("error %v", err)
	}
}

// What is committed must be measurements: none of them nothing, and peaks no less than
// what they are peaks of.
func TestCommittedMeasurementsAreSound(t *testing.T) {
	t.Parallel()
	all, err := footprint.Measurements()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Run == "" || m.LiveIdle <= 0 || m.LiveRamp <= 0 || m.LiveBurst <= 0 || m.Idle <= m.LiveIdle || m.Ramp < m.Idle || m.Push < m.Ramp || m.Burst <= m.LiveBurst {
			t.Errorf("%+v", m)
		}
	}
}
