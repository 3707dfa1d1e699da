package judge

import (
	"fmt"
	"slices"
	"strconv"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Aim is the part of a client's requests that is meant for one version.
type Aim struct {
	// Client is its name in the recording: "grpc" or "http".
	Client string
	// Version is what answers are told apart by: the label reckon.dev/version.
	Version string
	// Targets are what the client calls the version in its errors: a subset or a
	// Service of the route. Without any, a failure that names a target only is as
	// good as one that names none.
	Targets []string
}

// DefaultLevel is that of statistical claims: of a thousand runs in which
// everything is as predicted, one breaks the claim by chance at most.
const DefaultLevel = 0.999

// aimed is a part of requests, counted.
type aimed struct {
	// n are all requests but races, k those for the version: answered by it, or
	// failed on the way to it.
	n, k int64
	// unknown failed, and nobody can tell whether they were for the version.
	unknown int64
	// races failed because the client was not ready for a target. They are the
	// client's own fault, and happen at changes of weights only, mostly to the
	// target that is new: they belong to no share.
	races int64
}

func (a Aim) count(t *series.Tally) aimed {
	out := aimed{k: t.Answered(a.Version), races: t.Failed(recording.ClientRace)}
	out.n = t.Due - out.races
	for kind, n := range t.Failures {
		switch {
		case kind.Cause == recording.ClientRace:
		case a.mine(kind):
			out.k += n
		case a.maybe(kind):
			out.unknown += n
		}
	}
	return out
}

// mine says whether a request that failed so was for the version.
func (a Aim) mine(kind series.FailureKind) bool {
	return kind.Version == a.Version || kind.Version == "" && slices.Contains(a.Targets, kind.Target)
}

// maybe says whether nobody can tell.
func (a Aim) maybe(kind series.FailureKind) bool {
	return kind.Version == "" && (kind.Target == "" || len(a.Targets) == 0)
}

// interval is the binomial interval of the share, 0 to 1. What is unknown widens
// it: it may be all or nothing of it.
func (a aimed) interval(level float64) (low, high float64) {
	low, _ = series.ClopperPearson(a.k, a.n, level)
	_, high = series.ClopperPearson(a.k+a.unknown, a.n, level)
	return low, high
}

// Estimate is a share that was counted, with its binomial interval in percent.
type Estimate struct {
	N       int64   `json:"n"`
	K       int64   `json:"k"`
	Percent float64 `json:"percent"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

func (a aimed) estimate(level float64) Estimate {
	low, high := a.interval(level)
	e := Estimate{N: a.n, K: a.k, Low: hundredths(100 * low), High: hundredths(100 * high)}
	if a.n > 0 {
		e.Percent = hundredths(100 * float64(a.k) / float64(a.n))
	}
	return e
}

// hundredths is as fine as a share of some thousand requests is known.
func hundredths(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 2, 64), 64)
	return out
}

// percent prints a percentage without needless digits: "20.03 %".
func percent(v float64) string {
	return strconv.FormatFloat(hundredths(v), 'f', -1, 64) + " %"
}

// between prints the interval: "17.2 to 23.1 %".
func (e Estimate) between() string {
	return strconv.FormatFloat(e.Low, 'f', -1, 64) + " to " + percent(e.High)
}

func (e Estimate) String() string {
	return fmt.Sprintf("%d of %d, %s (%s)", e.K, e.N, percent(e.Percent), e.between())
}

// counted are the intervals whose numbers can be relied on.
func counted(bins []series.Bin) []series.Bin {
	var out []series.Bin
	for i := range bins {
		if bins[i].Sound() && (i == 0 || bins[i].Seq != bins[i-1].Seq) {
			out = append(out, bins[i])
		}
	}
	return out
}

// requests resolves the window of a claim on a client's requests, and says when
// too little was seen.
func requests(set *series.Set, client string, w series.Window) (series.Interval, *Finding) {
	in, ok := set.Resolve(w)
	if !ok {
		f := inconclusive(0, "the script did not run from step %q to the end of step %q", w.From, w.To)
		return in, &f
	}
	if len(set.Traffic[client]) == 0 {
		f := inconclusive(0, "no request of client %s was recorded", client)
		return in, &f
	}
	return in, nil
}

// untold makes a finding inconclusive when not every request of the client
// inside the interval is accounted for: a client that died must not end green.
func untold(set *series.Set, client string, in series.Interval, f Finding) Finding {
	for _, g := range set.GapsOf([]string{series.TrafficResource(client)}, in) {
		f.Status, f.Why = Inconclusive, cut(g)+", so requests may be missing"
		break
	}
	return f
}
