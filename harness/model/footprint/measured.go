package footprint

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
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

// Of are the observations of a quantity in a measurement: that of no connection is part
// of each law.
func (m Measurement) Of(q Quantity) []Observation {
	idle := Load{Endpoints: m.Endpoints, Visible: m.Visible}
	with := func(before, after float64) []Observation { return []Observation{{idle, before}, {m.Load, after}} }
	switch q {
	case Live:
		return append(with(m.LiveIdle, m.LiveRamp), Observation{m.Load, m.LiveBurst})
	case Ramp:
		return with(m.Idle, m.Ramp)
	case Push:
		return with(m.Idle, m.Push)
	case Burst:
		return with(m.Idle, m.Burst)
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

// FitOf fits the law of a quantity to measurements.
func FitOf(q Quantity, all []Measurement) (Law, error) {
	var seen []Observation
	for _, m := range all {
		of := m.Of(q)
		if of == nil {
			return Law{}, fmt.Errorf("%w %q", ErrUnknownQuantity, q)
		}
		seen = append(seen, of...)
	}
	l, err := Fit(seen)
	if err != nil {
		return Law{}, fmt.Errorf("%s: %w", q, err)
	}
	return l, nil
}

// Source says of what the measurements are.
const Source = "istiod 1.31 (of August 2026) on one core of a machine of two, without CA, webhooks and gateways; services of 10 endpoints each"
