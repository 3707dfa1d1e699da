package record

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"reckon.dev/reckon/harness/recording"
)

// maxMetrics bounds one page of metrics, in bytes.
const maxMetrics = 64 << 20

// Page is a page of Prometheus text, and what of it is sampled.
type Page struct {
	URL string
	// HTTP is the client; nil: the default one.
	HTTP *http.Client
	// Prefixes of the names of metrics that are taken; none: all are.
	Prefixes []string
	// Only are labels that a metric must have to be taken.
	Only map[string]string
	// Buckets are the names of histograms of which the buckets are taken too.
	Buckets []string
	// Labels are added to those of each sample: which of several replicas it is, say.
	Labels map[string]string
}

// Metrics makes a sampler of a page: counters, gauges and untyped values under
// their name, histograms and summaries as <name>_sum and <name>_count, buckets as
// <name>_bucket with the label le, counted from the lowest on as the page does.
// Not a number and infinite are left out.
//
// The first sample is full. Later ones hold only the values that changed, so
// silence in a recording means "as before" while the sampler's log has no error.
func Metrics(name string, interval time.Duration, page Page) Sampler {
	m := &scraper{Page: page, last: map[string]float64{}}
	if m.HTTP == nil {
		m.HTTP = http.DefaultClient
	}
	return Sampler{Name: name, Interval: interval, Sample: m.sample}
}

type scraper struct {
	Page
	last map[string]float64
}

func (m *scraper) sample(ctx context.Context) ([]recording.Sample, error) {
	families, err := m.scrape(ctx)
	if err != nil {
		return nil, err
	}
	var out []recording.Sample
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !m.selected(name) {
			continue
		}
		for _, metric := range families[name].GetMetric() {
			if m.among(metric) {
				out = m.changed(out, name, metric)
			}
		}
	}
	return out, nil
}

func (m *scraper) scrape(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	resp, err := m.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", m.URL, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", m.URL, err)
	}
	return families, nil
}

func (m *scraper) selected(name string) bool {
	return len(m.Prefixes) == 0 ||
		slices.ContainsFunc(m.Prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// among says whether a metric has the labels that it must have.
func (m *scraper) among(metric *dto.Metric) bool {
	found := 0
	for _, l := range metric.GetLabel() {
		if want, ok := m.Only[l.GetName()]; ok && want == l.GetValue() {
			found++
		}
	}
	return found == len(m.Only)
}

// changed appends what of a metric differs from its last sample.
func (m *scraper) changed(out []recording.Sample, name string, metric *dto.Metric) []recording.Sample {
	labels, id := m.labelsOf(metric)
	add := func(series string, value float64, le ...string) {
		key, labels := series+id, labels
		if len(le) > 0 {
			key += "\xff" + le[0]
			labels = maps.Clone(labels)
			labels["le"] = le[0]
		}
		last, known := m.last[key]
		if !finite(value) || known && last == value {
			return
		}
		m.last[key] = value
		out = append(out, recording.Sample{Series: series, Labels: labels, Value: value})
	}
	switch {
	case metric.Counter != nil:
		add(name, metric.Counter.GetValue())
	case metric.Gauge != nil:
		add(name, metric.Gauge.GetValue())
	case metric.Untyped != nil:
		add(name, metric.Untyped.GetValue())
	case metric.Histogram != nil:
		add(name+"_sum", metric.Histogram.GetSampleSum())
		add(name+"_count", float64(metric.Histogram.GetSampleCount()))
		if slices.Contains(m.Buckets, name) {
			for _, b := range metric.Histogram.GetBucket() {
				add(name+"_bucket", float64(b.GetCumulativeCount()), strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
			}
		}
	case metric.Summary != nil:
		add(name+"_sum", metric.Summary.GetSampleSum())
		add(name+"_count", float64(metric.Summary.GetSampleCount()))
	}
	return out
}

// labelsOf are a metric's labels with those of the page, and an id made of them.
func (m *scraper) labelsOf(metric *dto.Metric) (labels map[string]string, id string) {
	var b strings.Builder
	labels = make(map[string]string, len(metric.GetLabel())+len(m.Labels))
	maps.Copy(labels, m.Labels)
	for _, l := range metric.GetLabel() { // in the order of the page, which is stable
		labels[l.GetName()] = l.GetValue()
		fmt.Fprintf(&b, "\xff%s\xff%s", l.GetName(), l.GetValue())
	}
	return labels, b.String()
}
