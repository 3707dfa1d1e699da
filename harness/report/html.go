package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
)

//go:embed report.html.tmpl report.css report.js compare.html.tmpl compare.css
var assets embed.FS

var page = template.Must(template.New("report.html.tmpl").Funcs(pageFuncs()).ParseFS(assets, "report.html.tmpl"))

func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"count": count, "number": number, "optional": optional, "secs": secs, "visible": visible, "soft": soft, "seenIn": seenIn, "unbroken": unbroken,
	}
}

// HTML writes one page that needs nothing else: it opens from a disk or a mail,
// offline, and reads without its script. Errors are those of w, and
// programming errors: a chart that names a series that nothing defines.
func HTML(w io.Writer, r Run) error {
	c, err := newChart(r)
	if err != nil {
		return err
	}
	v, err := newView(r, c)
	if err != nil {
		return err
	}
	// A template that fails half-way must not leave half a page behind.
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return fmt.Errorf("rendering the report: %w", err)
	}
	_, err = b.WriteTo(w)
	return err
}

// pageView is what the template reads.
type pageView struct {
	CSS template.CSS
	JS  template.JS

	Title, Outcome, Class  string
	Story, Fidelity        string
	Reasons                []string
	Verdict                judge.Verdict
	Versions, Edits        []string
	Recorded, Started      string
	ClaimsHeld, GuardsHeld string
	Claims                 []claimView
	Guards                 []guardView
	Chart                  *chart
	Tables                 []judge.Table
	Measured, Details      []judge.Table
	ThreeWay               *judge.Table
	Unexplained            []bool
	Binaries               []binaryView
	Facts, Params, Run     []pair
	Changed                string
}

type claimView struct {
	judge.ClaimResult
	DOM, Word, Class, Glyph, At string
	Quote                       bool
}

type guardView struct {
	judge.GuardResult
	DOM, Word, Class, Glyph, At string
	Meaning                     string
	Bullet                      bullet
}

// bullet is the little bar that shows the worst value against its limit, in
// percent of its width; -1 is not drawn.
type bullet struct{ Worst, Limit, Expected float64 }

type binaryView struct {
	Component, Version, Source, Binary, Digest string
}

type pair struct{ Name, Value string }

func newView(r Run, c *chart) (pageView, error) {
	v := r.Verdict
	css, err := assets.ReadFile("report.css")
	if err != nil {
		return pageView{}, err
	}
	js, err := assets.ReadFile("report.js")
	if err != nil {
		return pageView{}, err
	}
	out := pageView{
		CSS: template.CSS(css), JS: template.JS(js), // ours, embedded: safe by origin
		Title: title(v.Outcome) + " " + v.Cell, Outcome: title(v.Outcome), Class: string(v.Outcome),
		Story: story(v), Fidelity: fidelity(v), Verdict: v, Versions: versions(v), Edits: edits(v),
		Recorded: count(int(v.Facts), "fact") + " in " + secs(v.LastedSec),
		Chart:    c, Tables: r.Prediction.Tables,
		Facts: pairs(v.Cluster.Facts), Params: params(r.Header.Params), Run: runPairs(r),
		Changed: strings.Join(r.Changed, " "),
	}
	if !r.Header.Base.IsZero() {
		out.Started = r.Header.Base.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if v.Outcome == judge.Fail || len(v.Reasons) > 1 { // the story tells a single other reason in full
		out.Reasons = v.Reasons
	}
	out.results(r)
	out.traffic(v)
	for _, comp := range v.Components {
		for _, d := range digestsOrNone(comp) {
			out.Binaries = append(out.Binaries, binaryView{comp.Name, comp.Version, comp.Source, d.Binary, d.Digest})
		}
	}
	return out, nil
}

func (p *pageView) traffic(v judge.Verdict) {
	p.Measured = measureTables(v)
	if t := threeWay(v); len(t.Rows) > 0 {
		p.ThreeWay = &t
	}
	for _, d := range v.Disagreements {
		p.Unexplained = append(p.Unexplained, !d.Explained)
	}
	for _, c := range v.Claims {
		if c.Detail != nil && len(c.Detail.Rows) > 0 {
			detail := *c.Detail
			detail.Title = c.ID + ": " + detail.Title
			p.Details = append(p.Details, detail)
		}
	}
}

func (p *pageView) results(r Run) {
	v := r.Verdict
	claims, guards := tallyClaims(v), tallyGuards(v)
	p.ClaimsHeld = fmt.Sprintf("%d of %d held", claims.held, claims.all)
	p.GuardsHeld = fmt.Sprintf("%d of %d held", guards.held, guards.all)
	for i, c := range v.Claims {
		p.Claims = append(p.Claims, claimView{
			ClaimResult: c, DOM: fmt.Sprintf("claim-%d", i+1), Word: claimWord(c, v.Gate),
			Class: string(c.Status), Glyph: glyph(c.Status), At: instant(c.AtSec, r), Quote: c.Status != judge.Held,
		})
	}
	for i, g := range v.Guards {
		p.Guards = append(p.Guards, guardView{
			GuardResult: g, DOM: fmt.Sprintf("guard-%d", i+1), Word: guardWord(g), Class: string(g.Status),
			Glyph: glyph(g.Status), At: instant(g.AtSec, r), Meaning: guardMeaning(g, v.Gate), Bullet: newBullet(g),
		})
	}
}

// unbroken says whether a cell is a short number, which must not be cut in two.
func unbroken(cell string) bool {
	return len(cell) > 0 && len(cell) <= 30 && (cell[0] == '-' || '0' <= cell[0] && cell[0] <= '9')
}

// breakable matches where long paths and resource names may break.
var breakable = regexp.MustCompile(`(/|[a-z]\.)([a-zA-Z])`)

// soft lets long paths and resource names break after slashes and dots.
func soft(s string) template.HTML {
	escaped := template.HTMLEscapeString(visible(s))
	return template.HTML(breakable.ReplaceAllString(escaped, "$1<wbr>$2"))
}

// glyph repeats a status by shape for those who scan.
func glyph(s judge.Status) string {
	switch s {
	case judge.Held:
		return "✓"
	case judge.Broken:
		return "✕"
	}
	return "?"
}

// instant gives a time on both clocks: that of the chart, and that of the
// recording, which the judge's sentences use.
func instant(sec *float64, r Run) string {
	if sec == nil {
		return ""
	}
	text := secs(*sec) + " of the recording"
	if r.Set == nil {
		return text
	}
	in, _ := r.Set.Resolve(r.Prediction.Chart.Window)
	begin := msec(in.From)
	if begin == 0 || *sec < begin || *sec > msec(in.To) {
		return text
	}
	return fmt.Sprintf("%.3f s on the chart (%s)", *sec-begin, text)
}

func newBullet(g judge.GuardResult) bullet {
	b := bullet{-1, -1, -1}
	most := g.Limit
	for _, v := range []*float64{g.Worst, g.Expected} {
		if v != nil {
			most = max(most, *v)
		}
	}
	if !(most > 0) {
		return b
	}
	scale := func(v float64) float64 { return round3(max(0, v/most*96)) }
	b.Limit = scale(g.Limit)
	if g.Worst != nil {
		b.Worst = scale(*g.Worst)
	}
	if g.Expected != nil {
		b.Expected = scale(*g.Expected)
	}
	return b
}

func pairs(m map[string]string) []pair {
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{k, m[k]})
	}
	return out
}

// params shows the parameters one by one when they are an object.
func params(raw json.RawMessage) []pair {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		if text := strings.TrimSpace(string(raw)); text != "" && text != "null" {
			return []pair{{"parameters", text}}
		}
		return nil
	}
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var text string
		if json.Unmarshal(m[k], &text) != nil {
			var b bytes.Buffer
			_ = json.Compact(&b, m[k]) // it was parsed above, so it is JSON
			text = b.String()
		}
		out = append(out, pair{k, text})
	}
	return out
}

// runPairs identify the run.
func runPairs(r Run) []pair {
	v := r.Verdict
	out := []pair{{"run", v.RunID}, {"drill", v.Drill}, {"cell", v.Cell}, {"repetition", fmt.Sprint(v.Repetition)}}
	if r.Header.RunID != "" {
		out = append(out, pair{"seed", fmt.Sprint(r.Header.Seed)}, pair{"recorded by", "reckon " + r.Header.Reckon})
	}
	out = append(out, pair{"gate", fmt.Sprintf("claims %s, guards %s", gateWord(v.Gate.Claims), gateWord(v.Gate.Guards))})
	return out
}

// gateWord names the default: what is not reported only fails the run.
func gateWord(s string) string {
	if s == "" {
		return "fail"
	}
	return s
}
