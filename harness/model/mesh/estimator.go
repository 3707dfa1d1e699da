package mesh

import (
	"math"
	"time"
)

// GaugeIncreases is what the sum of positive increases of the replicas' connection gauges
// shows for a rate of reconnects, both per second. A gauge moves by arrivals less
// departures of an interval, a difference of two Poisson numbers (Skellam), whose positive
// part grows with the root of the rate: twice the reconnects show as 1.4 times. It is 0
// of no replicas, no interval and no reconnects.
func GaugeIncreases(rate float64, replicas int, interval time.Duration) float64 {
	if rate <= 0 || replicas <= 0 || interval <= 0 {
		return 0
	}
	dt := interval.Seconds()
	each := rate * dt / float64(replicas)
	return float64(replicas) * each * scaledBessel(2*each) / dt
}

// scaledBessel is exp(-x)*(I0(x)+I1(x)), by the trapezoid rule on the integral over an
// angle. The rule converges at once for a smooth periodic function; the steps grow with
// how narrow the peak is.
func scaledBessel(x float64) float64 {
	steps := 64 + int(16*math.Sqrt(min(x, 1e6)))
	sum := 0.0
	for i := range steps {
		c := math.Cos(2 * math.Pi * float64(i) / float64(steps))
		sum += math.Exp(x*(c-1)) * (1 + c)
	}
	return sum / float64(steps)
}
