package footprint

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Quantity is a question about a replica's memory.
type Quantity string

const (
	// Live is what its heap holds once garbage is collected.
	Live Quantity = "live heap"
	// Ramp is the most that was resident by when the proxies had connected one by one.
	Ramp Quantity = "slow ramp"
	// Push is the most that was resident by when each of them was then sent all of its
	// configuration at once.
	Push Quantity = "full push"
	// Burst is the most that was resident of a replica to which all connected at once.
	Burst Quantity = "burst"
)

// Quantities are all of them.
func Quantities() []Quantity { return []Quantity{Live, Ramp, Push, Burst} }

// Measurement is what one run measured of istiods that served a load. Bytes are as the
// kernel and Go's runtime say.
type Measurement struct {
	// Run is the recording's directory below results/baselines.
	Run string `json:"run"`
	Load
	// Idle is the most that was resident of a replica without a connection.
	Idle float64 `json:"idle"`
	// LiveIdle, LiveRamp and LiveBurst are live heaps: without a connection, after the
	// slow ramp, and after the burst.
	LiveIdle  float64 `json:"liveIdle"`
	LiveRamp  float64 `json:"liveRamp"`
	LiveBurst float64 `json:"liveBurst"`
	Ramp      float64 `json:"ramp"`
	Push      float64 `json:"push"`
	Burst     float64 `json:"burst"`
	// CPURamp, CPUPush and CPUBurst are seconds of CPU of a whole phase.
	CPURamp  float64 `json:"cpuRamp"`
	CPUPush  float64 `json:"cpuPush"`
	CPUBurst float64 `json:"cpuBurst"`
	// Sent is how many bytes of configuration one connection was sent in the burst.
	Sent float64 `json:"sent"`
}

// of are the observations of a quantity in a measurement. The live heap has a law from
// the first connection on; a peak has one where there is something that it is a peak of:
// what is under way of a push is no less for few connections.
func (m Measurement) of(q Quantity) []Observation {
	switch q {
	case Live:
		idle := Load{Endpoints: m.Endpoints, Visible: m.Visible}
		return []Observation{{idle, m.LiveIdle}, {m.Load, m.LiveRamp}, {m.Load, m.LiveBurst}}
	case Ramp:
		return []Observation{{m.Load, m.Ramp}}
	case Push:
		return []Observation{{m.Load, m.Push}}
	case Burst:
		return []Observation{{m.Load, m.Burst}}
	}
	return nil
}

//go:embed measured.json
var measured []byte

// Measurements are those that the laws are fitted to. A test holds them against the
// recordings that they are taken from.
func Measurements() ([]Measurement, error) {
	var out []Measurement
	if err := json.Unmarshal(measured, &out); err != nil {
		return nil, fmt.Errorf("the committed measurements of istiod's memory: %w", err)
	}
	return out, nil
}

// ErrUnknownQuantity is a programming error.
var ErrUnknownQuantity = errors.New("unknown quantity of memory")

// ObservationsOf are those of a quantity in measurements, none if it is unknown.
func ObservationsOf(q Quantity, all []Measurement) []Observation {
	var out []Observation
	for _, m := range all {
		out = append(out, m.of(q)...)
	}
	return out
}

// FitOf fits the law of a quantity to measurements.
func FitOf(q Quantity, all []Measurement) (Law, error) {
	if !slices.Contains(Quantities(), q) {
		return Law{}, fmt.Errorf("%w %q", ErrUnknownQuantity, q)
	}
	l, err := Fit(ObservationsOf(q, all))
	if err != nil {
		return Law{}, fmt.Errorf("%s: %w", q, err)
	}
	return l, nil
}

// Source says of what the measurements are.
const Source = "istiod 1.31 (of August 2026) on one core of a machine of two, without CA, webhooks and gateways; services of 10 endpoints each"
