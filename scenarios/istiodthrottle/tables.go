package istiodthrottle

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/series"
)

// measured are the series of the table beside those of the limit.
func (k key) measured() []string {
	var out []string
	for _, h := range []histogram{convergence(), listeners()} {
		out = append(out, h.sum(), h.count())
		for _, b := range h.bounds {
			out = append(out, h.bucket(b))
		}
	}
	return out
}

// row is one thing that was measured in a step.
type row struct {
	name  string
	value func(m *measures) (string, error)
}

// measures are those of one step.
type measures struct {
	set     *series.Set
	in      series.Interval
	rs      []reading
	all     quota.Count
	account quota.Account
}

// table tells what was measured, in the quiet and while changes are pushed.
func (k key) table(set *series.Set, account quota.Account) (*judge.Table, error) {
	t := &judge.Table{Title: fmt.Sprintf("what istiod used of its limit of %s on %d CPUs", account.Limit, account.CPUs), Head: []string{"what", StepQuiet, StepPush}}
	rows := append(useRows(), append(throttleRows(), k.pushRows()...)...)
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.name})
	}
	for _, step := range t.Head[1:] {
		m := &measures{set: set, account: account}
		var ok bool
		if m.in, ok = set.Resolve(series.Window{From: step, To: step}); !ok {
			return nil, nil
		}
		why := ""
		var err error
		if m.rs, why, err = readings(set, m.in); err != nil {
			return nil, err
		}
		if why == "" {
			m.all = whole(m.rs)
		}
		for i, r := range rows {
			text := "-"
			if why == "" {
				if text, err = r.value(m); err != nil {
					return nil, err
				}
			}
			t.Rows[i] = append(t.Rows[i], text)
		}
	}
	return t, nil
}

func plain(f func(m *measures) string) func(m *measures) (string, error) {
	return func(m *measures) (string, error) { return f(m), nil }
}

func useRows() []row {
	return []row{
		{"seconds", plain(func(m *measures) string { return fmt.Sprintf("%.1f", m.all.Span.Seconds()) })},
		{"cores used, mean", plain(func(m *measures) string { return fmt.Sprintf("%.3f", m.rate(m.all)) })},
		{"of the limit, mean", plain(func(m *measures) string { return fmt.Sprintf("%.0f %%", 100*m.rate(m.all)/m.account.Limit.Cores()) })},
		{"cores used, most in a second", plain(func(m *measures) string { return m.most(time.Second) })},
		{"cores used, most in 100 ms", plain(func(m *measures) string { return m.most(quota.Period - quota.Tick) })},
	}
}

func (m *measures) rate(c quota.Count) float64 { return c.Use.Seconds() / c.Span.Seconds() }

// most is the highest rate of stretches of about so long; where readings are much
// farther apart there is none.
func (m *measures) most(least time.Duration) string {
	most, n := 0.0, 0
	for _, s := range stretches(m.rs, least) {
		if c := between(s[0], s[1]); c.Span < least*3/2 {
			most, n = max(most, m.rate(c)), n+1
		}
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", most)
}

func throttleRows() []row {
	return []row{
		{"periods counted in a second, of 10", plain(func(m *measures) string { return fmt.Sprintf("%.1f", float64(m.all.Periods)/m.all.Span.Seconds()) })},
		{"of those, throttled", plain(func(m *measures) string { return fmt.Sprintf("%.1f %%", percent(m.all.Throttled, m.all.Periods)) })},
		{"of all periods there were, throttled", plain(func(m *measures) string {
			return fmt.Sprintf("%.1f %%", 100*float64(m.all.Throttled)/(m.all.Span.Seconds()/quota.Period.Seconds()))
		})},
		{"throttled, by use and time lost", plain(func(m *measures) string {
			return fmt.Sprintf("%.1f to %.1f %%", percent(m.account.Least(m.all), m.all.Periods), percent(m.account.Most(m.all), m.all.Periods))
		})},
		{"time lost, in a second", plain(func(m *measures) string {
			return fmt.Sprintf("%.0f ms", 1000*m.all.Lost.Seconds()/m.all.Span.Seconds())
		})},
		{"time lost, in a throttled period", plain(func(m *measures) string {
			if m.all.Throttled == 0 {
				return "-"
			}
			return fmt.Sprintf("%.1f ms", 1000*m.all.Lost.Seconds()/float64(m.all.Throttled))
		})},
	}
}

func (k key) pushRows() []row {
	of := func(h histogram, what string) []row {
		return []row{
			{what + ", mean", func(m *measures) (string, error) { return h.mean(m.set, m.in) }},
			{what + ", 99 %", func(m *measures) (string, error) {
				text, _, err := h.quantile(m.set, m.in, 0.99)
				return text, err
			}},
		}
	}
	return append(append([]row{{"pushes to all proxies", func(m *measures) (string, error) {
		_, n, err := convergence().quantile(m.set, m.in, 0.99)
		return fmt.Sprintf("%.1f", n/float64(k.params.Connections)), err
	}}}, of(convergence(), "from a push's begin until a proxy has it")...), of(listeners(), "making a proxy's listeners and sending them")...)
}

// tables are the answer key for people.
func (p *Params) tables() []judge.Table {
	return []judge.Table{p.limits(), p.bursts(), p.compatible()}
}

// limits of the seed's question, and this one.
func (p *Params) limits() judge.Table {
	t := judge.Table{Title: "what a limit makes of istiod", Head: []string{"limits.cpu", "in 100 ms", "GOMAXPROCS by the chart", "by Go, if the chart did not", "PushThrottle", "streams a second"}}
	for _, l := range sorted(p.CPU, 600, quota.Core, 2*quota.Core) {
		n := l.ChartProcs()
		t.Rows = append(t.Rows, []string{
			l.String(), l.Quota().String(), fmt.Sprint(n), fmt.Sprint(l.RuntimeProcs(mostCPUs)), fmt.Sprint(mesh.PushThrottle(n)), fmt.Sprint(mesh.RequestLimit(n)),
		})
	}
	return t
}

// sorted are limits without doubles, the lowest first.
func sorted(limits ...quota.Limit) []quota.Limit {
	slices.Sort(limits)
	return slices.Compact(limits)
}

// bursts are what becomes of a push once a second that costs so much CPU time.
func (p *Params) bursts() judge.Table {
	n := p.procs(mostCPUs)
	t := judge.Table{
		Title: fmt.Sprintf("one push a second at a limit of %s with GOMAXPROCS %d, if nothing else runs", p.CPU, n),
		Head:  []string{"costs", "use, mean", "of the limit", "takes", "throttled periods of ten"},
	}
	for _, work := range []time.Duration{50, 100, 200, 300, 400} {
		work *= time.Millisecond
		b := p.CPU.Burst(work, n)
		t.Rows = append(t.Rows, []string{
			work.String(), fmt.Sprintf("%.2f cores", work.Seconds()), fmt.Sprintf("%.0f %%", 100*work.Seconds()/p.CPU.Cores()), b.Took.String(), fmt.Sprint(b.Throttled),
		})
	}
	return t
}

// compatible is up to which share of its periods a group can be throttled, over a long
// time in which all are counted, by its use and the machine's CPUs.
func (p *Params) compatible() judge.Table {
	machines := []int{2, 4, 8, 16}
	t := judge.Table{Title: "the most periods that can be throttled, by use; the least is 0", Head: []string{"of the limit, mean"}}
	for _, m := range machines {
		t.Head = append(t.Head, fmt.Sprintf("%d CPUs", m))
	}
	const long = time.Hour
	for _, used := range []float64{0.1, 0.2, 0.29, 0.5, 0.8} {
		c := quota.Count{Span: long, Use: time.Duration(used * p.CPU.Cores() * float64(long)), Periods: int64(long / quota.Period)}
		row := []string{fmt.Sprintf("%.0f %%", 100*used)}
		for _, m := range machines {
			row = append(row, fmt.Sprintf("%.0f %%", percent(quota.Account{Limit: p.CPU, CPUs: m}.Most(c), c.Periods)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func admittedOn(p *Params, cpus int) float64 { return mesh.RequestLimit(p.procs(cpus)) }
