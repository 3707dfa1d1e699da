package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Replacement is when the pod that takes the place of an evicted one becomes ready.
type Replacement string

const (
	// Never: it runs and never becomes ready.
	Never Replacement = "never"
	// AfterEach: before the next eviction is asked for.
	AfterEach Replacement = "after-each"
	// AfterRefusal: when an eviction has been refused for want of it.
	AfterRefusal Replacement = "after-refusal"
)

// A Drill is evictions, one after the other, of the pods of a Deployment as it was; a
// refused one is asked for again. The controller has seen all that happened before each.
type Drill struct {
	Replicas int
	// Unready are that many of the pods, the first, running and not ready at the start.
	Unready int
	// Surge is ready pods above Replicas, as in the middle of a rolling update.
	Surge   int
	Budgets []Budget
	// Evictions is how many are asked for. 0 is a drain of the node that holds all pods
	// of the start: until they are gone, or until nothing more can change.
	Evictions int
	// Rounds, if not 0, makes the drain one like kubectl's: each round asks for every pod
	// that is still there, but no more for one whose answer was an error, and new pods
	// become ready between the rounds. It ends after that many rounds without success.
	// kubectl asks for all pods at once and has no such end but its --timeout.
	// k8s.io/kubectl/pkg/drain/drain.go:284 (v0.37.2)
	Rounds      int
	Replacement Replacement
}

// A Row is one eviction.
type Row struct {
	Pod    string
	Answer Answer
	// Status is that of the first budget after the controller has looked again.
	Status Status
	// Ready is how many pods were ready and not being deleted right after the answer.
	Ready int
	// Round is 1 in the first round of a drain in rounds.
	Round int
}

// A Look is what can be read at an instant: from the budget, and from the pods.
type Look struct {
	Status Status
	// Ready and Live pods; none of them is being deleted.
	Ready, Live int
}

// A Trace is the answers of a Drill.
type Trace struct {
	Start Status
	// ReadyAtStart is as Row.Ready.
	ReadyAtStart int
	Rows         []Row
	// Looks are all instants: the start, and for each answer, as far as something changed,
	// the charge of the API server, the controller's next look with a new pod that is not
	// ready, and its look at that pod when it is. Several become ready one by one.
	Looks []Look
	// Forever says that the last refusal would be repeated for ever.
	Forever bool
}

const controller = "deployment"

// player is a Drill under way. One pod at a time is being replaced.
type player struct {
	rules    Rules
	drill    Drill
	pods     []Pod
	guards   []Guard
	targets  []string
	trace    Trace
	replaced int
}

// Play plays the drill.
func Play(rules Rules, d Drill) Trace {
	p := &player{rules: rules, drill: d}
	for i := range d.Replicas + d.Surge {
		name := fmt.Sprintf("pod-%d", i)
		p.pods = append(p.pods, Pod{Name: name, Phase: Running, Ready: i >= d.Unready, Controller: controller})
		p.targets = append(p.targets, name)
	}
	for _, b := range d.Budgets {
		p.guards = append(p.guards, Guard{Budget: b})
	}
	p.sync()
	p.trace.Start, p.trace.ReadyAtStart = p.status(), p.ready()
	p.look()
	if d.Rounds > 0 {
		p.rounds()
		return p.trace
	}
	for (d.Evictions == 0 || len(p.trace.Rows) < d.Evictions) && len(p.targets) > 0 {
		if p.evict(); d.Evictions == 0 && p.trace.Forever {
			break
		}
	}
	return p.trace
}

func (p *player) sync() {
	for i, g := range p.guards {
		p.guards[i].Status = g.Budget.Sync(g.Status, p.pods, Scales{controller: p.drill.Replicas}, 0)
	}
}

func (p *player) status() Status {
	if len(p.guards) == 0 {
		return Status{}
	}
	return p.guards[0].Status
}

func (p *player) ready() int {
	n := 0
	for _, pod := range p.pods {
		if pod.Ready {
			n++
		}
	}
	return n
}

func (p *player) look() {
	now := Look{Status: p.status(), Ready: p.ready(), Live: len(p.pods)}
	now.Status.Disrupted = maps.Clone(now.Status.Disrupted)
	p.trace.Looks = append(p.trace.Looks, now)
}

// rounds is a drain as kubectl does it.
func (p *player) rounds() {
	for round, idle := 1, 0; len(p.targets) > 0 && idle < p.drill.Rounds; round++ {
		idle++
		for _, name := range slices.Clone(p.targets) {
			row := p.ask(name)
			row.Round = round
			if row.Answer.Deleted {
				idle = 0
			}
			if row.Answer.Code == InternalServerError {
				p.drop(name)
			}
			p.sync()
			row.Status = p.status()
			p.trace.Rows = append(p.trace.Rows, row)
		}
		if p.drill.Replacement != Never {
			p.getReady()
		}
	}
	p.trace.Forever = len(p.targets) > 0
}

func (p *player) evict() {
	row := p.ask(p.targets[0])
	answer := row.Answer
	if p.drill.Replacement == AfterEach {
		p.getReady()
	}
	p.trace.Forever = !answer.Deleted && !(p.drill.Replacement == AfterRefusal && p.getReady())
	p.sync()
	row.Status = p.status()
	p.trace.Rows = append(p.trace.Rows, row)
}

// ask asks for the eviction of a pod and makes a new one in its place.
func (p *player) ask(name string) Row {
	target := slices.IndexFunc(p.pods, func(pod Pod) bool { return pod.Name == name })
	answer, status := p.rules.Evict(Request{Pod: p.pods[target], Guards: p.guards})
	if len(p.guards) == 1 {
		p.guards[0].Status = status
	}
	if answer.Deleted {
		p.pods = slices.Delete(p.pods, target, target+1)
		p.drop(name)
		p.look()
		p.replace()
		p.sync()
		p.look()
	}
	return Row{Pod: name, Answer: answer, Ready: p.ready()}
}

// drop takes a pod off those to be asked for.
func (p *player) drop(name string) {
	p.targets = slices.DeleteFunc(p.targets, func(target string) bool { return target == name })
}

// replace fills up to the wanted number; a surge is not made again.
func (p *player) replace() {
	for len(p.pods) < p.drill.Replicas {
		p.pods = append(p.pods, Pod{Name: fmt.Sprintf("new-%d", p.replaced), Phase: Running, Controller: controller})
		p.replaced++
	}
}

// getReady lets the new pods become ready, one after the other, and reports whether there
// were any.
func (p *player) getReady() bool {
	changed := false
	for i, pod := range p.pods {
		if !pod.Ready && strings.HasPrefix(pod.Name, "new-") {
			p.pods[i].Ready, changed = true, true
			p.sync()
			p.look()
		}
	}
	return changed
}

// Codes are the answers in order.
func (t Trace) Codes() []int {
	var out []int
	for _, r := range t.Rows {
		out = append(out, r.Answer.Code)
	}
	return out
}

// Allowed is disruptionsAllowed at the start and after each eviction.
func (t Trace) Allowed() []int {
	out := []int{t.Start.DisruptionsAllowed}
	for _, r := range t.Rows {
		out = append(out, r.Status.DisruptionsAllowed)
	}
	return out
}

// Seen are the values that a number took, in order.
func (t Trace) Seen(number func(Look) int) []int {
	var out []int
	for _, look := range t.Looks {
		out = append(out, number(look))
	}
	return slices.Compact(out)
}

// LeastReady is the fewest pods that were ready at a time; 0 is a gap.
func (t Trace) LeastReady() int {
	least := t.ReadyAtStart
	for _, r := range t.Rows {
		least = min(least, r.Ready)
	}
	return least
}

// String is a line an eviction.
func (t Trace) String() string {
	var b strings.Builder
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "evict %s: %d, ready=%d healthy=%d/%d allowed=%d %s\n", r.Pod, r.Answer.Code, r.Ready,
			r.Status.CurrentHealthy, r.Status.DesiredHealthy, r.Status.DisruptionsAllowed, r.Answer.Cause)
	}
	if t.Forever {
		b.WriteString("and so for ever\n")
	}
	return b.String()
}
