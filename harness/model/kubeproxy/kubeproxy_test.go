package kubeproxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

func ready(pod string) Endpoint   { return Endpoint{Pod: pod, Ready: true, Serving: true} }
func ending(pod string) Endpoint  { return Endpoint{Pod: pod, Serving: true, Terminating: true} }
func unready(pod string) Endpoint { return Endpoint{Pod: pod} }

func TestUsablePods(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   []Endpoint
		want string
	}{
		"those that are Ready":                   {[]Endpoint{ready("b"), unready("c"), ready("a")}, "[a b]"},
		"not those that end, while one is Ready": {[]Endpoint{ending("b"), ready("a")}, "[a]"},
		"those that end and serve, if none is":   {[]Endpoint{ending("b"), unready("c"), {Pod: "d", Terminating: true}}, "[b]"},
		"none":                                   {nil, "[]"},
		"one in two slices is one":               {[]Endpoint{ready("a"), ready("a")}, "[a]"},
		"a Ready one that ends is led to (publishNotReadyAddresses)": {[]Endpoint{{Pod: "a", Ready: true, Serving: true, Terminating: true}}, "[a]"},
	} {
		if got := fmt.Sprint(Usable(c.of)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// said are sayings, as "word ms". A round took since the "begins" before it is done.
func said(t *testing.T, all ...string) []Saying {
	t.Helper()
	var out []Saying
	var begun time.Duration
	for _, text := range all {
		word, at, _ := strings.Cut(text, " ")
		d, err := time.ParseDuration(at + "ms")
		if err != nil {
			t.Fatal(err)
		}
		switch s := (Saying{At: d, What: Word(word)}); word {
		case "begins":
			begun = d
		case "done":
			s.Took = d - begun
			out = append(out, s)
		default:
			out = append(out, s)
		}
	}
	return out
}

func at(t time.Duration, endpoints ...Endpoint) Change {
	return Change{At: t, Slice: "s", Endpoints: endpoints}
}

func TestRulesAreOfWhatWasKnownWhenTheirWritingBegan(t *testing.T) {
	t.Parallel()
	listed := at(0, ready("a"))
	listed.Listed = true
	other := at(5000*ms, ready("z"))
	other.Slice = "other"
	for name, c := range map[string]struct {
		changes []Change
		said    []Saying
		want    string
	}{
		"what is listed was known before": {[]Change{listed}, said(t, "begins 10", "writes 20", "done 30"), "[20ms-30ms [a]]"},
		"a change while they are written waits for the next": {
			[]Change{listed, at(1000*ms, ready("a"), ready("b")), at(1020*ms, ready("b"))},
			said(t, "told 1001", "begins 1002", "told 1021", "writes 1030", "done 1050", "begins 2050", "writes 2060", "done 2070"),
			"[1030ms-1050ms [a b]] [2060ms-2070ms [b]]",
		},
		"the recorder may be told a little later than kube-proxy": {
			[]Change{listed, at(1010*ms, ready("a"), ready("b"))}, said(t, "told 1000", "begins 1001", "writes 1002", "done 1003"), "[1002ms-1003ms [a b]]",
		},
		"or earlier": {
			[]Change{listed, at(1000*ms, ready("b"))}, said(t, "begins 1001", "writes 1001", "done 1003", "told 1010", "begins 2003", "writes 2004", "done 2005"), "[1001ms-1003ms [a]] [2004ms-2005ms [b]]",
		},
		"what failed is not in force": {
			[]Change{listed, at(1000*ms, ready("b"))}, said(t, "begins 10", "writes 11", "done 12", "told 1000", "begins 1001", "writes 1002", "fails 1003", "done 1004", "begins 2000", "writes 2001", "done 2002"),
			"[11ms-12ms [a]] [2001ms-2002ms [b]]",
		},
		"the same rules are not new ones": {
			[]Change{listed, at(1000*ms, ready("a"), unready("b"))}, said(t, "begins 10", "writes 11", "done 12", "told 1000", "begins 1001", "writes 1002", "done 1003"), "[11ms-12ms [a]]",
		},
		"all slices count": {
			[]Change{listed, other}, said(t, "told 5000", "begins 5001", "writes 5002", "done 5003"), "[5002ms-5003ms [a z]]",
		},
		"a slice that is deleted has nothing": {
			[]Change{listed, at(1000 * ms)}, said(t, "told 1000", "begins 1001", "writes 1002", "done 1003"), "[1002ms-1003ms []]",
		},
		"of more that it was told of, the nearest is meant": {
			[]Change{listed, at(1000*ms, ready("b"))}, said(t, "told 300", "begins 301", "writes 302", "done 303", "told 999", "begins 1400", "writes 1401", "done 1402", "told 1500"),
			"[302ms-303ms [a]] [1401ms-1402ms [b]]",
		},
		"a change while a round begins to write is not in it, although it is told of before": {
			[]Change{listed, at(1000*ms, ready("b"))}, said(t, "begins 990", "told 1001", "writes 1010", "done 1050", "begins 2050", "writes 2051", "done 2052"),
			"[1010ms-1050ms [a]] [2051ms-2052ms [b]]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := Record{c.changes, c.said}.Rules()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rules {
				got = append(got, fmt.Sprintf("[%dms-%dms %v]", r.From.Milliseconds(), r.To.Milliseconds(), r.Pods))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatKubeProxyDidNotSayIsNotGuessed(t *testing.T) {
	t.Parallel()
	change := at(time.Second, ready("a"))
	for name, c := range map[string]struct {
		r    Record
		want string
	}{
		"nothing at all":           {Record{Said: nil}, "did not say when it wrote"},
		"nothing of the change":    {Record{[]Change{change}, said(t, "begins 10", "done 12")}, "1 changes from 1s to 1s, and kube-proxy of 0"},
		"of one of two changes":    {Record{[]Change{change, change}, said(t, "told 1000", "begins 1001", "done 1002")}, "2 changes"},
		"of one long after it was": {Record{[]Change{change}, said(t, "told 2001", "begins 2001", "done 2002")}, "1 changes"},
	} {
		if _, err := c.r.Rules(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestLinesOfTheLog(t *testing.T) {
	t.Parallel()
	november := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		line string
		base time.Time
		want string // empty: says nothing
	}{
		{`I1130 09:59:02.123456       1 proxier.go:649] "SyncProxyRules complete" ipFamily="IPv4" elapsed="35.2ms"`, november, "2026-11-30T09:59:02.123456Z done 35.2ms"},
		{`I1130 09:59:02.123456       1 proxier.go:649] "SyncProxyRules complete" ipFamily="IPv4"`, november, ""},
		{`I1130 09:59:02.000001       1 proxier.go:1373] "Reloading service iptables data" ipFamily="IPv4" numServices=9`, november, "2026-11-30T09:59:02.000001Z writes"},
		{`I1130 09:59:02.000001       1 proxier.go:660] "Sync failed" ipFamily="IPv4" retryingTime="30s"`, november, "2026-11-30T09:59:02.000001Z fails"},
		{`I1130 09:59:02.000001       1 config.go:142] "Calling handler.OnEndpointSliceUpdate"`, november, "2026-11-30T09:59:02.000001Z told"},
		{`I1130 09:59:02.000001       1 config.go:125] "Calling handler.OnEndpointSliceAdd" endpoints="istio-system/istiod-x"`, november, "2026-11-30T09:59:02.000001Z told"},
		{`I1231 23:59:59.000001       1 config.go:142] "Calling handler.OnEndpointSliceUpdate"`, time.Date(2027, 1, 1, 0, 0, 1, 0, time.UTC), "2026-12-31T23:59:59.000001Z told"},
		{`I0101 00:00:01.000001       1 config.go:142] "Calling handler.OnEndpointSliceUpdate"`, time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC), "2027-01-01T00:00:01.000001Z told"},
		{`I1130 09:59:02.123456       1 proxier.go:649] "SyncProxyRules complete" ipFamily="IPv6" elapsed="35.2ms"`, november, ""},
		{`I1130 09:59:02.123456       1 config.go:236] "Calling handler.OnServiceUpdate"`, november, ""},
		{`] "Sync failed"`, november, ""},
		{`Ix130 09:59:02.123456       1 config.go:142] "Calling handler.OnEndpointSliceUpdate"`, november, ""},
		{``, november, ""},
	} {
		got := ""
		if said, ok := Parse(c.line, c.base); ok {
			got = c.base.Add(said.At).Format(time.RFC3339Nano) + " " + string(said.What)
			if said.Took > 0 {
				got += " " + said.Took.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}
