package judge

import (
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// RequestPanels draw the series of series.RequestDefinitions: the share of each
// version with its interval, together with the given lines of weights, the
// failures by cause and the latency.
func RequestPanels(client string, versions []string, weights ...Line) []Panel {
	shares := Panel{Title: "Share of the requests answered", Unit: "%, in 1 s, with its 95 % interval", Lines: weights}
	for _, version := range versions {
		name := series.ShareName(client, version)
		shares.Lines = append(shares.Lines, Line{Series: name, Label: version, Band: &Band{Low: name + ".low", High: name + ".high"}})
	}
	failures := Panel{Title: "Failures", Unit: "requests per second, by cause", None: "no request failed"}
	for _, cause := range recording.Causes() {
		failures.Lines = append(failures.Lines, Line{Series: series.FailureRateName(client, cause), Label: string(cause), Kind: Rare})
	}
	latency := Panel{Title: "Latency", Unit: "ms, from when a request was due, in 1 s", Lines: []Line{
		{Series: series.P99Name(client), Label: "p99"}, {Series: series.MedianName(client), Label: "median"},
	}}
	return []Panel{shares, failures, latency}
}
