package xdsfleet

import (
	"math"
	"math/rand/v2"
	"time"
)

// Bounds of an Envoy's pauses between streams (istio's envoy_bootstrap.json leaves
// them as in Envoy's source/extensions/config_subscription/grpc/grpc_stream.h:
// 500 ms and 30 s).
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// pauses are those of one proxy: any time up to a bound that doubles with each, and
// begins anew after a stream that delivered
// (Envoy's JitteredExponentialBackOffStrategy).
type pauses struct{ bound time.Duration }

func (p *pauses) next(random *rand.Rand) time.Duration {
	bound := max(p.bound, firstPause)
	p.bound = min(2*bound, lastPause)
	return time.Duration(random.Int64N(int64(bound)))
}

func (p *pauses) reset() { p.bound = 0 }

// rest draws what is left of the life of a connection that is met at any time: lives
// are even between the bounds, and long ones are met in proportion to their length.
func rest(least, most time.Duration, random *rand.Rand) time.Duration {
	a, b := float64(least), float64(most)
	life := math.Sqrt(a*a + random.Float64()*(b*b-a*a))
	return time.Duration(random.Float64() * life)
}

// lives are the bounds of the lives of connections: istiod asks a proxy to leave at
// 0.9 to 1.1 of the age (grpc-go, internal/transport/http2_server.go, getJitter), and
// cuts it off a grace later.
func (c Config) lives() (least, most time.Duration) {
	grace := c.Grace
	if c.CloseOnGoAway {
		grace = 0
	}
	return c.Age*9/10 + grace, c.Age*11/10 + grace
}
