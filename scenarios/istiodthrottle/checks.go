package istiodthrottle

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// key is the answer key of one cell.
type key struct {
	params *Params
	// pods: the counts are those that kubelets read.
	pods bool
}

// check holds a part of a recording against the key.
type check struct {
	predicted string
	window    series.Window
	of        []string
	eval      func(set *series.Set, in series.Interval) (judge.Finding, error)
}

func (c check) Predicted() string { return c.predicted }
func (c check) Series() []string  { return c.of }

func (c check) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.window)
	if !ok {
		return judge.Untold("the script did not run from step %q to the end of step %q", c.window.From, c.window.To), nil
	}
	return c.eval(set, in)
}

// procs: GOMAXPROCS is one number throughout.
func (k key) procs(set *series.Set, in series.Interval) (judge.Finding, error) {
	s, err := set.Get(procs)
	if err != nil {
		return judge.Finding{}, err
	}
	machine, err := machine(set)
	if err != nil {
		return judge.Finding{}, err
	}
	if machine == 0 {
		return judge.Untold("the recording does not tell how many CPUs the machine has"), nil
	}
	seen := s.Changes(in)
	if len(seen) == 0 {
		return judge.Untold("no sample of istiod's GOMAXPROCS"), nil
	}
	f := judge.Finding{Status: judge.Held, Observed: seen[0].Value.String(), Samples: len(seen)}
	want := series.Number(float64(k.params.procs(machine)))
	if i := slices.IndexFunc(seen, func(p series.Point) bool { return p.Value != want }); i >= 0 {
		f.Status, f.Observed, f.At = judge.Broken, seen[i].Value.String(), &seen[i].T
		f.Why = fmt.Sprintf("GOMAXPROCS is %s, expected %s on %d CPUs: was the limit given to istiod?", seen[i].Value, want, machine)
	}
	return f, nil
}

const (
	// longestSpan is over how long admissions are counted, but for no more than part of
	// them: at the end many wait for their turn to try again. leastSpan is as short as
	// tells one GOMAXPROCS from the next, which is one in four or five.
	longestSpan = 5 * time.Second
	leastSpan   = 3 * time.Second
	part        = 0.6
	// admissionLag is by how much a first answer may be later than another's, while
	// istiod is throttled and busy: it was half a second in real runs. admissionPart is
	// what of the rate is used at least.
	admissionLag  = 800 * time.Millisecond
	admissionPart = 0.95
)

// span is the time over which admissions are counted.
func (k key) span() time.Duration {
	most := time.Duration(part * float64(k.params.Connections) / k.params.admitted() * float64(time.Second))
	return min(longestSpan, most)
}

// admissionRange is how many are admitted within a span: one at once, and then one
// each time that the limiter lets one pass.
func (k key) admissionRange(limit float64) (low, high float64) {
	return admissionPart * limit * k.span().Seconds(), 1 + limit*(k.span()+admissionLag).Seconds()
}

func (k key) admissionsText() string {
	low, high := k.admissionRange(k.params.admitted())
	return fmt.Sprintf("%.0f to %.0f in %s, for a limit of %.0f/s", low, high, k.span(), k.params.admitted())
}

func (k key) admissions(set *series.Set, in series.Interval) (judge.Finding, error) {
	machine, err := machine(set)
	switch {
	case err != nil:
		return judge.Finding{}, err
	case set.Fleet == nil || machine == 0:
		return judge.Untold("the recording tells of no proxy, or not of the machine"), nil
	}
	for _, l := range set.LateIn(recording.FleetSampler, in) {
		if l.By() > admissionLag {
			return judge.Untold("the proxies were starved for %s until %s: their times are not to be trusted", l.By(), l.To), nil
		}
	}
	var at []time.Duration
	for i := range set.Fleet.Connections {
		if c := &set.Fleet.Connections[i]; in.Contains(c.From) {
			at = append(at, c.From)
		}
	}
	most := busiest(at, k.span())
	limit := admittedOn(k.params, machine)
	low, high := k.admissionRange(limit)
	f := judge.Finding{Status: judge.Held, Samples: len(at), Observed: fmt.Sprintf("%d in %s", most, k.span())}
	switch {
	case len(at) < k.params.Connections:
		return judge.Untold("%d connections were made, expected %d", len(at), k.params.Connections), nil
	case float64(most) < low || float64(most) > high:
		f.Status, f.Why = judge.Broken, fmt.Sprintf("%d proxies were admitted within %s, expected %.0f to %.0f: %.0f a second", most, k.span(), low, high, limit)
	}
	return f, nil
}

// busiest is the most of some times that lie within a span.
func busiest(at []time.Duration, span time.Duration) int {
	slices.Sort(at)
	most, from := 0, 0
	for i, t := range at {
		for t-at[from] > span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// slop is by how much longer than between two readings the counts may be apart:
// kubelets read them every 10 s or so, and are read themselves every five.
func (k key) slop() time.Duration {
	if k.pods {
		return 15 * time.Second
	}
	return quota.Period / 2
}

// counted are the readings of a window and the account that they are held against.
func (k key) counted(set *series.Set, in series.Interval) ([]reading, quota.Account, *judge.Finding, error) {
	cpus, err := machine(set)
	if err != nil {
		return nil, quota.Account{}, nil, err
	}
	rs, why, err := readings(set, in)
	if err != nil {
		return nil, quota.Account{}, nil, err
	}
	if cpus == 0 {
		why = "the recording does not tell how many CPUs the machine has"
	}
	if why != "" {
		f := judge.Untold("%s", why)
		return nil, quota.Account{}, &f, nil
	}
	return rs, quota.Account{Limit: k.params.CPU, CPUs: cpus}, nil, nil
}

func (k key) inForce(set *series.Set, in series.Interval) (judge.Finding, error) {
	rs, _, less, err := k.counted(set, in)
	if err != nil || less != nil {
		return deref(less), err
	}
	c := whole(rs)
	most := quota.MostPeriods(c.Span + k.slop())
	f := judge.Finding{Status: judge.Held, Samples: len(rs), Observed: fmt.Sprintf("%d in %s", c.Periods, rounded(c.Span))}
	if c.Periods < 1 || c.Periods > most {
		f.Status, f.Why = judge.Broken, fmt.Sprintf("%d periods were counted in %s, expected 1 to %d", c.Periods, rounded(c.Span), most)
	}
	return f, nil
}

func deref(f *judge.Finding) judge.Finding {
	if f == nil {
		return judge.Finding{}
	}
	return *f
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

func (k key) capped(set *series.Set, in series.Interval) (judge.Finding, error) {
	rs, account, less, err := k.counted(set, in)
	if err != nil || less != nil {
		return deref(less), err
	}
	all := stretches(rs, time.Second)
	if len(all) == 0 {
		return judge.Untold("no two readings that are a second apart"), nil
	}
	f := judge.Finding{Status: judge.Held, Samples: len(all)}
	worst := 0.0
	for _, s := range all {
		c := between(s[0], s[1])
		rate := c.Use.Seconds() / c.Span.Seconds()
		if rate > worst {
			worst, f.At = rate, &s[0].t
		}
		if most := account.MostUse(c.Span + k.slop()); c.Use > most {
			f.Status, f.At = judge.Broken, &s[0].t
			f.Why = fmt.Sprintf("%s of CPU time were used in %s, and the limit lets %s pass", c.Use.Round(time.Millisecond), rounded(c.Span), most.Round(time.Millisecond))
			break
		}
	}
	f.Observed = fmt.Sprintf("%.3g cores", worst)
	return f, nil
}

func (k key) throttled(set *series.Set, in series.Interval) (judge.Finding, error) {
	rs, account, less, err := k.counted(set, in)
	if err != nil || less != nil {
		return deref(less), err
	}
	c := whole(rs)
	low, high := account.Least(c), account.Most(c)
	f := judge.Finding{Status: judge.Held, Samples: len(rs), Observed: fmt.Sprintf("%d of %d (%.1f %%), %d to %d are possible", c.Throttled, c.Periods, percent(c.Throttled, c.Periods), low, high)}
	if c.Throttled < low || c.Throttled > high {
		f.Status = judge.Broken
		f.Why = fmt.Sprintf("%d of %d periods were throttled, and with %s of CPU time used and %s lost there are %d to %d", c.Throttled, c.Periods, c.Use.Round(time.Millisecond), c.Lost.Round(time.Millisecond), low, high)
	}
	f.Detail, err = k.table(set, account)
	return f, err
}
