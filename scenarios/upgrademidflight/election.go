package upgrademidflight

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Times of the leader election: the controller's own defaults (controller/controller.go:92,
// :95 and :98, v1.8.3), and what the library makes of them.
const (
	leaseDuration = 15 * time.Second
	renewEvery    = 2 * time.Second
	// retryMost: who waits asks again after 1 to 2.2 times the retry period
	// (k8s.io/client-go tools/leaderelection/leaderelection.go:72 and :251, v0.29.3).
	retryMost = 4400 * time.Millisecond
	// slow is what the requests of it may take on a busy machine.
	slow = time.Second
)

// leases is the resource of the leader's lease.
const leases = "leases.coordination.k8s.io"

// Series of the election. The first version is process 1, the other process 2.
const seriesHolder = "lease"

func seriesIdentity(process int) string { return fmt.Sprintf("identity.%d", process) }
func seriesLeads(process int) string    { return fmt.Sprintf("leads.%d", process) }
func seriesWrote(process int) string    { return fmt.Sprintf("wrote.%d", process) }

// processes are the numbers of both.
var processes = [2]int{1, 2}

func electionDefinitions() []series.Definition {
	out := []series.Definition{{Name: seriesHolder, Doc: "who has the lease of the leader", Object: &series.FromObject{
		Resource: leases, Namespace: argorollouts.Namespace, Value: func(v *series.View) (series.Value, bool) {
			return series.Text(v.Spec.HolderIdentity), v.Metadata.Name == argorollouts.Lock
		},
	}}}
	for _, n := range processes {
		of := func(name, doc, expression string) series.Definition {
			return series.Definition{Name: name, Doc: fmt.Sprintf("%s of controller %d", doc, n), Log: &series.FromLog{
				Component: argorollouts.Name, Process: n, Match: regexp.MustCompile(expression),
			}}
		}
		out = append(out,
			of(seriesIdentity(n), "identity in the election", `"msg":"Leaderelection get id ([^"]+)"`),
			of(seriesLeads(n), "begin of the lead", `"msg":"I am the new leader: ([^"]+)"`),
			of(seriesWrote(n), "writes", rollback.Wrote))
	}
	return out
}

// election: who leads when, how long nobody does, and that nobody else writes.
func (k key) election() []judge.Claim {
	in := series.Window{From: k.Course.Legs[0].Name, To: stepQuiet}
	basis := k.Basis(rollouts.RuleLease, rollouts.RuleRelease)
	return []judge.Claim{
		{ID: claimLeaders, Sentence: "these controllers have the lease, in this order (1 is the first version, 2 the other)", Basis: basis, Check: leaders{in}},
		{
			ID: claimLeaderless, Sentence: "from when the first version ends until the other leads it takes so long: the lease is not given back, and must be old enough",
			Basis: basis, Check: interregnum{end: k.p.stepEnd()},
		},
		{ID: claimWriters, Sentence: "a controller writes only while it leads", Basis: k.Basis(rollouts.RuleLead), Check: writers{in: in, end: k.p.stepEnd()}},
	}
}

// broken adds why a finding is broken, and where.
func broken(f judge.Finding, p series.Point, format string, args ...any) judge.Finding {
	f.Status, f.Why = judge.Broken, fmt.Sprintf(format, args...)
	if at := p.T; at > 0 {
		f.At, f.Objects = &at, []string{p.Ref}
	}
	return f
}

// leaders: the lease is the first one's and then the other's.
type leaders struct{ in series.Window }

func (leaders) Predicted() string { return "1 → 2" }
func (leaders) Series() []string {
	return []string{seriesHolder, seriesIdentity(1), seriesIdentity(2)}
}

func (c leaders) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.in)
	if !ok {
		return judge.Untold("the script did not run from step %q to the end of step %q", c.in.From, c.in.To), nil
	}
	holder, err := set.Get(seriesHolder)
	if err != nil {
		return judge.Finding{}, err
	}
	number := map[string]string{}
	for _, n := range processes {
		s, err := set.Get(seriesIdentity(n))
		if err != nil {
			return judge.Finding{}, err
		}
		for _, p := range s.Points {
			number[p.Value.Text] = fmt.Sprint(n)
		}
	}
	changes := holder.Changes(in)
	if len(changes) == 0 || len(number) < len(processes) {
		return judge.Untold("%d holders of the lease were seen, and the names of %d controllers", len(changes), len(number)), nil
	}
	var held []string
	for _, p := range changes {
		n, known := number[p.Value.Text]
		if !known {
			n = "?"
		}
		held = append(held, n)
	}
	f := judge.Finding{Status: judge.Held, Observed: strings.Join(held, " → "), Samples: len(changes)}
	for _, g := range set.GapsOf(holder.Resources, in) {
		if !g.Lossless {
			return judge.Untold("the %s was cut from %s to %s, which could hide a leader", g.Source(), g.From, g.To), nil
		}
	}
	if f.Observed != c.Predicted() {
		return broken(f, changes[len(changes)-1], "the lease was held by %s", f.Observed), nil
	}
	return f, nil
}

// interregnum is the time without a leader.
type interregnum struct{ end string }

// The least is where the first version has just not renewed its lease when it ends; the
// most where it has just renewed it, the other sees that late, and asks late again.
const (
	least = leaseDuration - renewEvery - slow
	most  = leaseDuration + 2*retryMost + slow
)

func (interregnum) Predicted() string {
	return fmt.Sprintf("%.1f s to %.1f s", least.Seconds(), most.Seconds())
}
func (interregnum) Series() []string { return []string{seriesLeads(2)} }

func (c interregnum) Eval(set *series.Set) (judge.Finding, error) {
	leads, err := set.Get(seriesLeads(2))
	if err != nil {
		return judge.Finding{}, err
	}
	step := set.Step(c.end)
	if step == nil || !step.Ended {
		return judge.Untold("the script did not reach the end of %q", c.end), nil
	}
	if len(leads.Points) == 0 {
		if quiet := set.Step(stepQuiet); quiet == nil || !quiet.Ended {
			return judge.Untold("the script did not reach the end of %q", stepQuiet), nil
		}
		return judge.Finding{Status: judge.Broken, Observed: "never", Samples: 1, Why: "the other version never said that it leads"}, nil
	}
	p := leads.Points[0]
	took := p.T - step.Begin
	f := judge.Finding{Status: judge.Held, Observed: fmt.Sprintf("%.1f s", took.Seconds()), Samples: 2}
	at := p.T
	f.At = &at
	if took < least || took > most {
		return broken(f, p, "it took %.3f s", took.Seconds()), nil
	}
	return f, nil
}

// writers: each write is one of the controller that leads.
type writers struct {
	in  series.Window
	end string
}

func (writers) Predicted() string { return "all by the leader" }
func (writers) Series() []string {
	return []string{seriesWrote(1), seriesWrote(2), seriesLeads(1), seriesLeads(2)}
}

func (c writers) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.in)
	end := set.Step(c.end)
	if !ok || end == nil || !end.Ended {
		return judge.Untold("the script did not run from step %q to the end of step %q", c.in.From, c.in.To), nil
	}
	total, texts := 0, []string{}
	for _, n := range processes {
		wrote, err := set.Get(seriesWrote(n))
		if err != nil {
			return judge.Finding{}, err
		}
		leads, err := set.Get(seriesLeads(n))
		if err != nil {
			return judge.Finding{}, err
		}
		points := wrote.Changes(in)
		if len(points) == 0 || len(leads.Points) == 0 {
			return judge.Untold("controller %d said %d times that it leads, and %d times that it wrote", n, len(leads.Points), len(points)), nil
		}
		lead := series.Interval{From: leads.Points[0].T, To: in.To}
		if n == 1 {
			lead.To = end.End
		}
		total += len(points)
		texts = append(texts, fmt.Sprintf("%d by %d", len(points), n))
		for _, p := range points {
			if !lead.Contains(p.T) {
				f := judge.Finding{Observed: strings.Join(texts, ", "), Samples: total}
				return broken(f, p, "controller %d wrote while it did not lead: %s", n, p.Value.Text), nil
			}
		}
	}
	return judge.Finding{Status: judge.Held, Observed: strings.Join(texts, ", "), Samples: total}, nil
}
