package record

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"reckon.dev/reckon/harness/recording"
)

// maxMetrics bounds one page of metrics, in bytes.
const maxMetrics = 64 << 20

// Metrics makes a sampler of a Prometheus endpoint. It takes metrics whose
// name begins with one of the prefixes, or all when there are none: counters,
// gauges and untyped values under their name, histograms and summaries as
// <name>_sum and <name>_count. Not a number and infinite are left out.
//
// The first sample is full. Later ones hold only the values that changed, so
// silence in a recording means "as before" while the sampler's log has no error.
func Metrics(name, url string, interval time.Duration, client *http.Client, prefixes ...string) Sampler {
	m := &scraper{url: url, http: client, prefixes: prefixes, last: map[string]float64{}}
	if m.http == nil {
		m.http = http.DefaultClient
	}
	return Sampler{Name: name, Interval: interval, Sample: m.sample}
}

type scraper struct {
	url      string
	http     *http.Client
	prefixes []string
	last     map[string]float64
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
			out = m.changed(out, name, metric)
		}
	}
	return out, nil
}

func (m *scraper) scrape(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	resp, err := m.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", m.url, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", m.url, err)
	}
	return families, nil
}

func (m *scraper) selected(name string) bool {
	return len(m.prefixes) == 0 ||
		slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// changed appends what of a metric differs from its last sample.
func (m *scraper) changed(out []recording.Sample, name string, metric *dto.Metric) []recording.Sample {
	labels, id := labelsOf(metric)
	add := func(series string, value float64) {
		last, known := m.last[series+id]
		if !finite(value) || known && last == value {
			return
		}
		m.last[series+id] = value
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
	case metric.Summary != nil:
		add(name+"_sum", metric.Summary.GetSampleSum())
		add(name+"_count", float64(metric.Summary.GetSampleCount()))
	}
	return out
}

func labelsOf(metric *dto.Metric) (labels map[string]string, id string) {
	var b strings.Builder
	labels = make(map[string]string, len(metric.GetLabel()))
	for _, l := range metric.GetLabel() { // in the order of the page, which is stable
		labels[l.GetName()] = l.GetValue()
		fmt.Fprintf(&b, "\xff%s\xff%s", l.GetName(), l.GetValue())
	}
	return labels, b.String()
}
