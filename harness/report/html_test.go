package report

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

var pages = flag.String("pages", "", "write the HTML of the test runs into this directory")

// TestWritePages is for looking at the pages in a browser.
func TestWritePages(t *testing.T) {
	if *pages == "" {
		t.Skip("no -pages directory given")
	}
	runs := withTraffic(t)
	runs["hostile"], runs["long"] = hostile(t), long(t)
	for name, r := range runs {
		if err := os.WriteFile(filepath.Join(*pages, name+".html"), renderHTML(t, r), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func renderHTML(t testing.TB, r Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// elements walks the parsed page.
func elements(t *testing.T, page []byte, visit func(n *html.Node, attr map[string]string)) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		visit(n, attr)
	}
}

func TestPageIsWholeInItself(t *testing.T) {
	runs := withTraffic(t)
	runs["hostile"] = hostile(t)
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			page := renderHTML(t, r)
			if len(page) > 300_000 {
				t.Errorf("the page has %d bytes", len(page))
			}
			if m := regexp.MustCompile(`(?i)https?://|@import|url\([^#]`).Find(page); m != nil {
				t.Errorf("the page refers to the outside: %s", m)
			}
			if bytes.Contains(page, []byte("ZgotmplZ")) {
				t.Error("html/template refused a value")
			}
			ids, links := map[string]int{}, []string{}
			elements(t, page, func(n *html.Node, attr map[string]string) {
				if id := attr["id"]; id != "" {
					ids[id]++
				}
				if n.Data == "a" {
					links = append(links, attr["href"])
				}
				for _, key := range []string{"src", "srcset", "action", "data", "onerror", "onclick"} {
					if attr[key] != "" {
						t.Errorf("<%s %s=%q>", n.Data, key, attr[key])
					}
				}
			})
			for id, n := range ids {
				if n > 1 {
					t.Errorf("id %q is there %d times", id, n)
				}
			}
			for _, l := range links {
				if ids[strings.TrimPrefix(l, "#")] == 0 {
					t.Errorf("link %q leads nowhere", l)
				}
			}
		})
	}
}

func TestPageSaysWhatMatters(t *testing.T) {
	runs := withTraffic(t)
	for name, want := range map[string][]string{
		"pass": {"PASS", "BROKEN (as predicted)", "as the model predicts, and unsafe", "predicted 0 → 100 → 0: followed", "worst 20, as predicted",
			"limit of guard overload: 1.5", "release one pod a second", "Rollout is healthy", "sha256:5b1f", "simulated by kwok", "DestinationRule is not read", "rollout/sync.go:233"},
		"fail":         {"FAIL", "departs: 1 value not predicted", "50, not predicted", "value 3 is 50 where 0 was predicted", "virtualservices.networking.istio.io/shop@"},
		"inconclusive": {"INCONCLUSIVE", "followed as far as was seen", "changes may be lost", "410 Gone"},
		"measured": {"its interval", "all of it", "442: no-endpoint 440, client-race 2", "18,000", "busiest pods", "VirtualService to istiod",
			"Three-way check", "UNEXPLAINED", "requests of that share fail: no endpoint (400 requests)", "stream from istiod was down for 4.400 s",
			"stream from istiod cut for 4.4 s", "measured: 7 to 190 ms", "not in proportion", "client-race"},
		"invalid": {"INVALID", "database space exceeded", "not finished", "followed until the run ended, 1 value not reached", "the chart goes to the end of the recording"},
	} {
		t.Run(name, func(t *testing.T) {
			text := plainText(t, renderHTML(t, runs[name]))
			for _, s := range want {
				if !strings.Contains(text, s) {
					t.Errorf("the page does not say %q", s)
				}
			}
		})
	}
}

// plainText is what a reader without script and style gets, titles included.
func plainText(t *testing.T, page []byte) string {
	var b strings.Builder
	elements(t, page, func(n *html.Node, attr map[string]string) {
		b.WriteString(attr["title"] + " ")
		if n.Data == "script" || n.Data == "style" {
			return
		}
		for c := range n.ChildNodes() {
			if c.Type == html.TextNode {
				b.WriteString(c.Data)
			}
		}
	})
	// A note's words are split over elements; a break opportunity is no space.
	whole := regexp.MustCompile(`<wbr>|<b>|</b>`).ReplaceAll(page, nil)
	return b.String() + string(regexp.MustCompile(`<[^>]*>`).ReplaceAll(whole, []byte(" ")))
}

func TestHostileTextStaysText(t *testing.T) {
	page := renderHTML(t, hostile(t))
	scripts := 0
	elements(t, page, func(n *html.Node, attr map[string]string) {
		switch n.Data {
		case "script":
			scripts++
		case "img", "iframe", "object", "embed", "link", "base", "form":
			t.Errorf("<%s> got into the page", n.Data)
		}
	})
	if scripts != 2 {
		t.Errorf("the page has %d scripts, want its data and its read-out", scripts)
	}
	if bytes.ContainsRune(page, '\x1b') {
		t.Error("a terminal code got into the page")
	}
}

func TestPageWithoutSeriesHasNoTimeline(t *testing.T) {
	r := passing(t)
	r.Set = nil
	if text := plainText(t, renderHTML(t, r)); strings.Contains(text, "Timeline") || !strings.Contains(text, "PASS") {
		t.Error("want the verdict and no timeline")
	}
}

func TestChartOfAnUnknownSeriesIsAnError(t *testing.T) {
	for name, chart := range map[string]judge.Chart{
		"line": {Panels: []judge.Panel{{Title: "p", Lines: []judge.Line{{Series: "no such"}}}}},
		"mark": {Marks: []string{"no such"}},
		"band": {Panels: []judge.Panel{{Title: "p", Lines: []judge.Line{{Series: "weight", Band: &judge.Band{Low: "weight", High: "no such"}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := passing(t)
			r.Prediction.Chart = chart
			if err := HTML(&bytes.Buffer{}, r); !errors.Is(err, series.ErrUnknown) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// long is a run whose series changes 5,000 times and follows no prediction.
func long(t testing.TB) Run {
	tp := newTape(t, header("long", 1))
	tp.step(0, 500, "roll back", "", func() {
		for i := range 5000 {
			tp.fact(recording.Fact{T: at9(float64(i) / 10), Sample: &recording.Sample{Series: "qps", Value: 100 + 50*math.Sin(float64(i)/40) + float64(i%7)}})
		}
	})
	return tp.run(500.5, judge.Prediction{
		Definitions: []series.Definition{{Name: "qps", Unit: "1/s", Sample: &series.FromSample{Series: "qps"}}},
		Guards:      []judge.Guard{{ID: "rate", Series: "qps", Limit: 140}},
		Claims:      []judge.Claim{{ID: "steady", Check: judge.Final{Of: "qps", Want: series.Number(100)}}},
		Chart:       judge.Chart{Marks: []string{"qps"}, Panels: []judge.Panel{{Title: "Requests", Lines: []judge.Line{{Series: "qps", Predicted: upTo(2000)}}}}},
	}, judge.Gate{})
}

func TestChartSaysOnlyWhatItShows(t *testing.T) {
	r := passing(t)
	if text := plainText(t, renderHTML(t, r)); !strings.Contains(text, "Pale bands") || !strings.Contains(text, "Controller events") {
		t.Error("want bands, and events of the controller")
	}
	r.Prediction.Chart.Panels = []judge.Panel{{Title: "pods", Unit: "pods", Lines: []judge.Line{{Series: "available{v1}", Label: "available by the status"}}}}
	r.Verdict.Components = nil
	text := plainText(t, renderHTML(t, r))
	for said, want := range map[string]bool{
		"Pale bands": false, "Controller events": false, "Events: argo-rollouts": true, "pods pods": false, "available by the status 20": true,
	} {
		if strings.Contains(text, said) != want {
			t.Errorf("%q: want %t", said, want)
		}
	}
}

func TestLongSeriesStaySane(t *testing.T) {
	if n := len(renderHTML(t, long(t))); n > 2_000_000 {
		t.Errorf("the page has %d bytes", n)
	}
}

// TestTextHasContrast holds every text colour against its ground: WCAG AA asks for 4.5.
func TestTextHasContrast(t *testing.T) {
	css, err := assets.ReadFile("report.css")
	if err != nil {
		t.Fatal(err)
	}
	roots := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(string(css), -1)
	if len(roots) != 3 {
		t.Fatalf("got %d palettes, want light, dark and print", len(roots))
	}
	pairs := []string{"ink paper", "ink card", "ink step", "ink broken-bg", "muted paper", "muted card", "link paper", "link card", "alarm paper", "alarm card",
		"held held-bg", "broken broken-bg", "unclear unclear-bg", "invalid invalid-bg", "held card", "broken card", "unclear card",
		"c0 paper", "c1 paper", "c2 paper", "c3 paper", "c4 paper", "c5 paper"}
	for i, name := range []string{"light", "dark", "print"} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w-]+): #(\w{6})\b`).FindAllStringSubmatch(roots[i][1], -1) {
			colors[m[1]] = m[2]
		}
		for _, pair := range pairs {
			text, ground, _ := strings.Cut(pair, " ")
			if c := contrast(t, colors[text], colors[ground]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, text, ground, c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(shift int) float64 {
		v := float64(rgb>>shift&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

func TestRareLinesAreDrawnWhereThereIsSomething(t *testing.T) {
	r := measuredRun(t)
	text := plainText(t, renderHTML(t, r))
	for said, want := range map[string]bool{"no request failed": false, "no-endpoint": true, "timed-out": false} {
		if strings.Contains(text, said) != want {
			t.Errorf("%q: want %t", said, want)
		}
	}
	panel := &r.Prediction.Chart.Panels[1]
	panel.Lines = slices.DeleteFunc(panel.Lines, func(l judge.Line) bool { return l.Label == "no-endpoint" || l.Label == "client-race" })
	if text := plainText(t, renderHTML(t, r)); !strings.Contains(text, "no request failed") {
		t.Error("nothing says that no request failed")
	}
}

// TestMeasuredLinesHaveTheirInterval: the band is one closed area around the
// line, and the read-out gives its ends.
func TestMeasuredLinesHaveTheirInterval(t *testing.T) {
	r := measuredRun(t)
	c, err := newChart(r)
	if err != nil {
		t.Fatal(err)
	}
	shares := c.Panels[0]
	for i, want := range []bool{false, false, true} {
		if got := strings.HasPrefix(shares.Lines[i].Band, "M") && strings.HasSuffix(shares.Lines[i].Band, "Z"); got != want {
			t.Errorf("line %d has the band %.40q", i, shares.Lines[i].Band)
		}
	}
	texts := c.Hover.Lines[shares.Lines[2].ID].V
	if first, last := texts[0], texts[len(texts)-1]; !regexp.MustCompile(`^0 \(0 to 1\.22\)$`).MatchString(first) || last != "100 (98.8 to 100)" {
		t.Errorf("the read-out goes from %q to %q", first, last)
	}
}
