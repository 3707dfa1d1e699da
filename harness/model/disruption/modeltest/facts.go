package modeltest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/model/share"
)

type factsFunc = func(disruption.Rules) map[string]string

func (p *parser) facts(kind string, words []string) (factsFunc, error) {
	switch kind {
	case "evictions":
		return evictions(p.budgets, words)
	case "status":
		return status(p.budgets, words)
	case "answer":
		return answer(p.budgets, words)
	}
	return nil, fmt.Errorf("unknown case %q (known: evictions, status, answer)", kind)
}

// parseBudgets reads "none", or limits of budgets with a bar between them.
func parseBudgets(words []string) ([]disruption.Budget, error) {
	if len(words) == 1 && words[0] == "none" {
		return nil, nil
	}
	budgets := []disruption.Budget{{Name: "b1"}}
	for _, w := range words {
		last := &budgets[len(budgets)-1]
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "|":
			budgets = append(budgets, disruption.Budget{Name: fmt.Sprintf("b%d", len(budgets)+1)})
		case "policy":
			last.Policy = disruption.Policy(value)
			if last.Policy != disruption.AlwaysAllow && last.Policy != disruption.IfHealthyBudget {
				return nil, fmt.Errorf("unknown policy %q", value)
			}
		case "minAvailable", "maxUnavailable":
			s, err := share.Parse(value)
			if err != nil {
				return nil, err
			}
			if key == "minAvailable" {
				last.MinAvailable = &s
			} else {
				last.MaxUnavailable = &s
			}
		default:
			return nil, fmt.Errorf("unknown field %q", key)
		}
	}
	return budgets, nil
}

// options reads key=value words into numbers; the last one that is not known is an error.
func options(words []string, numbers map[string]*int, others func(key, value string) bool) error {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if n, ok := numbers[key]; ok {
			v, err := strconv.Atoi(value)
			if err != nil || v > 5000 {
				return fmt.Errorf("%s: %q is not a number up to 5000", key, value)
			}
			*n = v
		} else if !others(key, value) {
			return fmt.Errorf("unknown option %q", w)
		}
	}
	return nil
}

func evictions(budgets []disruption.Budget, words []string) (factsFunc, error) {
	d := disruption.Drill{Replicas: 1, Budgets: budgets, Replacement: disruption.Never}
	err := options(words, map[string]*int{
		"replicas": &d.Replicas, "unready": &d.Unready, "surge": &d.Surge, "n": &d.Evictions, "rounds": &d.Rounds,
	}, func(key, value string) bool {
		d.Replacement = disruption.Replacement(value)
		return key == "replacement" && (d.Replacement == disruption.Never ||
			d.Replacement == disruption.AfterEach || d.Replacement == disruption.AfterRefusal)
	})
	return func(rules disruption.Rules) map[string]string {
		trace := disruption.Play(rules, d)
		facts := map[string]string{
			"codes": list(trace.Codes()), "allowed": list(trace.Allowed()),
			"least-ready": strconv.Itoa(trace.LeastReady()), "forever": yes(trace.Forever),
		}
		for key, number := range map[string]func(disruption.Look) int{
			"seen-allowed": func(l disruption.Look) int { return l.Status.DisruptionsAllowed },
			"seen-healthy": func(l disruption.Look) int { return l.Status.CurrentHealthy },
			"seen-desired": func(l disruption.Look) int { return l.Status.DesiredHealthy },
			"seen-ready":   func(l disruption.Look) int { return l.Ready },
			"seen-live":    func(l disruption.Look) int { return l.Live },
		} {
			facts[key] = list(trace.Seen(number))
		}
		if n := len(trace.Rows); n > 0 {
			facts["cause"] = trace.Rows[n-1].Answer.Cause
		}
		return facts
	}, err
}

func list(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// status reads pods "web:ready" or "-:pending" and scales "web=3".
func status(budgets []disruption.Budget, words []string) (factsFunc, error) {
	var pods []disruption.Pod
	scales := disruption.Scales{}
	for i, w := range words {
		if name, n, ok := strings.Cut(w, "="); ok {
			v, err := strconv.Atoi(n)
			if err != nil {
				return nil, fmt.Errorf("%q is not a scale", w)
			}
			scales[name] = v
			continue
		}
		owner, state, _ := strings.Cut(w, ":")
		pod, err := parsePod(state)
		if err != nil {
			return nil, err
		}
		pod.Name, pod.Controller = fmt.Sprintf("p%d", i+1), strings.Trim(owner, "-")
		pods = append(pods, pod)
	}
	if len(budgets) != 1 {
		return nil, fmt.Errorf("one budget is needed")
	}
	return func(disruption.Rules) map[string]string {
		s := budgets[0].Sync(disruption.Status{}, pods, scales, 0)
		return map[string]string{
			"healthy": strconv.Itoa(s.CurrentHealthy), "desired": strconv.Itoa(s.DesiredHealthy),
			"expected": strconv.Itoa(s.ExpectedPods), "allowed": strconv.Itoa(s.DisruptionsAllowed),
			"failed": s.SyncFailed,
		}
	}, nil
}

func parsePod(state string) (disruption.Pod, error) {
	pod := disruption.Pod{Name: "p1", Phase: disruption.Running}
	switch state {
	case "ready":
		pod.Ready = true
	case "unready":
	case "deleting":
		pod.Ready, pod.Deleting = true, true
	case "pending":
		pod.Phase = disruption.Pending
	case "failed":
		pod.Phase = disruption.Failed
	case "succeeded":
		pod.Phase = disruption.Succeeded
	default:
		return pod, fmt.Errorf("unknown state of a pod %q", state)
	}
	return pod, nil
}

func disruptedPods(n int) map[string]time.Duration {
	pods := map[string]time.Duration{}
	for i := range n {
		pods[fmt.Sprintf("other-%d", i)] = 0
	}
	return pods
}

// answer reads the state of the pod, and a status: "unready healthy=2 desired=2".
func answer(budgets []disruption.Budget, words []string) (factsFunc, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("a pod is missing")
	}
	pod, err := parsePod(words[0])
	if err != nil {
		return nil, err
	}
	var s disruption.Status
	disrupted, otherUID, dryRun := 0, false, false
	err = options(words[1:], map[string]*int{
		"healthy": &s.CurrentHealthy, "desired": &s.DesiredHealthy,
		"allowed": &s.DisruptionsAllowed, "disrupted": &disrupted,
	}, func(key, value string) bool {
		switch key {
		case "unobserved":
			s.Unobserved = true
		case "syncFailed":
			s.SyncFailed = value
		case "otherUID":
			otherUID = true
		case "dryRun":
			dryRun = true
		default:
			return false
		}
		return true
	})
	return func(rules disruption.Rules) map[string]string {
		s := s
		s.Disrupted = disruptedPods(disrupted)
		q := disruption.Request{Pod: pod, OtherUID: otherUID, DryRun: dryRun}
		for _, b := range budgets {
			q.Guards = append(q.Guards, disruption.Guard{Budget: b, Status: s})
		}
		a, after := rules.Evict(q)
		return map[string]string{
			"code": strconv.Itoa(a.Code), "retry": strconv.Itoa(a.RetryAfter),
			"deleted": yes(a.Deleted), "charged": yes(a.Charged), "message": a.Message, "cause": a.Cause,
			"allowed": strconv.Itoa(after.DisruptionsAllowed), "disrupted": strconv.Itoa(len(after.Disrupted)),
		}
	}, err
}
