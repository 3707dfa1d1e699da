package judge

import "reckon.dev/reckon/harness/series"

// LimitOf is the limit that a drill sets for a guard, or else the usual one.
func LimitOf(limits map[string]float64, id string, usual float64) float64 {
	if limit, ok := limits[id]; ok {
		return limit
	}
	return usual
}

// Guards on a client's requests.
const (
	ErrorsGuard  = "errors"
	LatencyGuard = "latency"
)

// usualLatency is the limit on the 99th percentile of one second's answers, in
// milliseconds, unless the drill sets one.
const usualLatency = 500

// RequestGuards limit what of a client's requests fails, in percent of one
// second's, and how long the answers take, over the requests that were sent when
// they were due. The series are those of series.RequestDefinitions; what errors
// rest on, and what is expected, is for the caller to say.
func RequestGuards(client string, sentences map[string]string, limits map[string]float64, usualErrors float64, window series.Window) (errors, latency Guard) {
	of := func(id, name string, usual float64) Guard {
		return Guard{ID: id, Sentence: sentences[id], Client: client, Series: series.PunctualName(name), Limit: LimitOf(limits, id, usual), Window: window}
	}
	errors = of(ErrorsGuard, series.FailedShareName(client), usualErrors)
	latency = of(LatencyGuard, series.P99Name(client), usualLatency)
	latency.Basis = []string{"the time of a request and of its way"}
	return errors, latency
}
