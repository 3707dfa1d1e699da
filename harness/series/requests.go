package series

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// Names of the series that RequestDefinitions defines for a client.

// ShareName is the share of the requests due that a version answered, in percent,
// in a sliding window of a second; its binomial interval at 95 % has the names
// with .low and .high.
func ShareName(client, version string) string { return client + ".share." + version }

// AnsweredName counts a version's answers from the client's first interval on.
func AnsweredName(client, version string) string { return client + ".answered." + version }

// DueName counts the requests due from the client's first interval on.
func DueName(client string) string { return client + ".due" }

// FailedName counts the requests that failed of any cause but
// recording.ClientRace, from the client's first interval on.
func FailedName(client string) string { return client + ".failed" }

// FailedShareName is the part of the requests due that failed of any cause but
// recording.ClientRace, in percent, in a sliding window of a second. It is
// counted, so its error is its grain: one request in those of a second.
func FailedShareName(client string) string { return client + ".failed-share" }

// PunctualName is FailedShareName or P99Name of the intervals that the client sent
// when they were due, which is what limits are for.
func PunctualName(name string) string { return name + ".punctual" }

// FailureRateName is how many requests fail of a cause, per second, in a sliding
// window of a second.
func FailureRateName(client string, cause recording.Cause) string {
	return client + ".failures." + string(cause)
}

// MedianName and P99Name are quantiles of the latency of the answers in a sliding
// window of a second, in milliseconds. The true values are up to 1/128 greater.
func MedianName(client string) string { return client + ".p50" }
func P99Name(client string) string    { return client + ".p99" }

// RequestDefinitions are the series of a client's requests that guards, claims
// and charts usually read.
func RequestDefinitions(client string, versions ...string) []Definition {
	const second, errorBar = time.Second, 0.95
	def := func(name, unit, doc string, over time.Duration, value TrafficValue) Definition {
		return Definition{Name: name, Unit: unit, Doc: doc, Traffic: &FromTraffic{Client: client, Over: over, Value: value}}
	}
	out := []Definition{
		def(DueName(client), "requests", "requests due so far", Cumulative, CountDue()),
		def(FailedName(client), "requests", "requests that failed so far, but for client races", Cumulative, CountFailed()),
		def(FailedShareName(client), "%", "part of the requests due within 1 s that failed, but for client races", second, PercentFailed()),
		def(MedianName(client), "ms", "median latency of the answers within 1 s", second, LatencyMS(0.5)),
		def(P99Name(client), "ms", "99th percentile of the latency of the answers within 1 s", second, LatencyMS(0.99)),
	}
	for _, d := range out[2:] {
		if d.Name == FailedShareName(client) || d.Name == P99Name(client) {
			of := *d.Traffic
			of.Punctual = true
			out = append(out, Definition{Name: PunctualName(d.Name), Unit: d.Unit, Doc: d.Doc + ", of those sent when due", Traffic: &of})
		}
	}
	for _, cause := range recording.Causes() {
		out = append(out, def(FailureRateName(client, cause), "1/s", fmt.Sprintf("requests that failed within 1 s: %s", cause), second, PerSecond(CountFailed(cause))))
	}
	for _, version := range versions {
		out = append(out, def(AnsweredName(client, version), "requests", "requests that "+version+" answered so far", Cumulative, CountAnswered(version)))
		out = append(out, ShareOf(ShareName(client, version), client, version, second, errorBar)...)
	}
	return out
}
