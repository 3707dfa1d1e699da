package judge

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Agree is the three-way check: the weight in the Rollout's status, that in the
// VirtualService, that which istiod delivered and the share that was answered are
// the same, but for as long as each takes to follow the one before it. Where two
// neighbours disagree for longer, the recording says why, or the claim is broken.
type Agree struct {
	Aim
	// Status, Stored and Delivered are series of one weight, in percent; "" leaves
	// one out.
	Status, Stored, Delivered string
	// Meant is the series of the share that is meant for the version, in percent:
	// what answers are held against. "" is Delivered; another one is for a version
	// that other routes lead to as well, such as a canary once it is the stable one.
	Meant string
	// Also are series that say what the targets of the route lead to: answers may
	// follow what was before one of them changed, too.
	Also []string
	// Limits is for how long each pair of neighbours may disagree.
	Limits Limits
	// Over is the length of the sliding window that a share is counted in, 1 s if
	// 0. At weights between 0 and 100, a disagreement is known to that grain.
	Over time.Duration
	// Level is that of all windows together (Bonferroni), DefaultLevel if 0.
	Level float64
	// Resolvable holds while the client can resolve everything that its route names,
	// such as a series that is 1 while the DestinationRule has the subset; nil if
	// nothing says so.
	Resolvable *Cond
	Window     series.Window
}

// Limits are for how long neighbours may disagree: until a weight of the status is
// stored, until what is stored is delivered, and until what is delivered is answered.
type Limits struct{ Write, Deliver, Answer time.Duration }

// Disagreement is a time in which two neighbours did not agree for too long. What
// they said is as of its begin, but for the answers, which are those of all of it.
type Disagreement struct {
	// Claim is the id of the claim that found it.
	Claim   string  `json:"claim"`
	FromSec float64 `json:"fromSeconds"`
	ForSec  float64 `json:"forSeconds"`
	// Ongoing: it lasted until the end of the window.
	Ongoing bool `json:"ongoing,omitempty"`
	// Between names the two neighbours.
	Between string `json:"between"`
	// The weights are in percent, nil where they are not known.
	Status    *float64 `json:"status,omitempty"`
	Stored    *float64 `json:"stored,omitempty"`
	Delivered *float64 `json:"delivered,omitempty"`
	// Meant is the share that is meant for the version, where it is not Delivered.
	Meant    *float64  `json:"meant,omitempty"`
	Answered *Estimate `json:"answered,omitempty"`
	Cause    string    `json:"cause"`
	// Explained: the cause is one that the recording shows.
	Explained bool `json:"explained"`

	at series.Interval
}

// Unexplained is the cause of what the recording does not explain.
const Unexplained = "unexplained"

// Neighbours, as Disagreement.Between names them.
const (
	StatusStored      = "status and VirtualService"
	StoredDelivered   = "VirtualService and istiod"
	DeliveredAnswered = "istiod and answers"
)

func (c Agree) Series() []string {
	var out []string
	for _, name := range []string{c.Status, c.Stored, c.Delivered, c.Meant} {
		if name != "" {
			out = append(out, name)
		}
	}
	out = append(out, c.Also...)
	if c.Resolvable != nil {
		out = append(out, c.Resolvable.Series)
	}
	return out
}

func (c Agree) meant() string {
	if c.Meant != "" {
		return c.Meant
	}
	return c.Delivered
}

func (c Agree) Predicted() string {
	return fmt.Sprintf("agree, but for %s (writing), %s (delivery) and %s (answers), or explained",
		seconds(c.Limits.Write), seconds(c.Limits.Deliver), seconds(c.Limits.Answer))
}

func (c Agree) Eval(set *series.Set) (Finding, error) {
	for _, name := range c.Series() {
		if _, _, less, err := view(set, name, c.Window); err != nil || less != nil {
			return deref(less), err
		}
	}
	in, less := requests(set, c.Client, c.Window)
	if less != nil {
		return *less, nil
	}
	w := &weights{Agree: c, set: set, in: in}
	if err := w.pair(c.Status, c.Stored, StatusStored, c.Limits.Write, w.unwritten); err != nil {
		return Finding{}, err
	}
	if err := w.pair(c.Stored, c.Delivered, StoredDelivered, c.Limits.Deliver, w.undelivered); err != nil {
		return Finding{}, err
	}
	if c.meant() != "" {
		if err := w.answers(); err != nil {
			return Finding{}, err
		}
	}
	return w.finding(), nil
}

// weights is an Agree under way.
type weights struct {
	Agree
	set *series.Set
	in  series.Interval
	out []Disagreement
	// windows counts the windows of requests that were compared, due their requests.
	windows int
	due     int64
}

func (w *weights) finding() Finding {
	f := Finding{Status: Held, Observed: fmt.Sprintf("agree throughout, %d requests", w.due), Samples: int(w.due)}
	sortByTime(w.out)
	f.Disagreements = w.out
	unexplained := 0
	for i, d := range w.out {
		if d.Explained {
			continue
		}
		if unexplained++; unexplained == 1 {
			f.Status, f.At = Broken, &w.out[i].at.From
			f.Why = fmt.Sprintf("%s disagreed for %s, and nothing in the recording says why", d.Between, seconds(d.at.To-d.at.From))
		}
	}
	if n := len(w.out); n > 0 {
		f.Observed = fmt.Sprintf("%s, %d unexplained", disagreementCount(n), unexplained)
	}
	if unexplained > 0 {
		return f // no gap lies over it, or it would be the cause
	}
	if w.windows == 0 && w.meant() != "" {
		return inconclusive(int(w.due), "no requests of client %s at a weight that is known", w.Client)
	}
	f = hidden(w.set, w.in, false, f, w.stored()...)
	return untold(w.set, w.Client, w.in, f)
}

// stored are the series whose gaps hide disagreements. A stream from istiod that
// was down hides none: it is the cause of one.
func (w *weights) stored() []string {
	var out []string
	for _, name := range []string{w.Status, w.Stored} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

func disagreementCount(n int) string {
	if n == 1 {
		return "1 disagreement"
	}
	return fmt.Sprintf("%d disagreements", n)
}

// pair looks for when two weights are not the same for longer than a limit.
func (w *weights) pair(a, b, between string, limit time.Duration, cause func(series.Interval, []series.Joint) string) error {
	if a == "" || b == "" {
		return nil
	}
	states, err := w.set.Join(w.in, a, b)
	if err != nil {
		return err
	}
	for i := 0; i < len(states); {
		n := i
		for n < len(states) && states[n].Points[0].Value != states[n].Points[1].Value {
			n++
		}
		if n == i {
			i++
			continue
		}
		if at := (series.Interval{From: states[i].T, To: states[n-1].Until}); at.To-at.From > limit {
			w.add(between, at, cause(at, states[i:n]), nil)
		}
		i = n
	}
	return nil
}

func (w *weights) add(between string, at series.Interval, cause string, answered *Estimate) {
	w.out = append(w.out, Disagreement{
		Between: between, FromSec: round(at.From), ForSec: round(at.To - at.From), Ongoing: at.To >= w.in.To,
		Status: w.weight(w.Status, at.From), Stored: w.weight(w.Stored, at.From), Delivered: w.weight(w.Delivered, at.From), Meant: w.weight(w.Meant, at.From),
		Answered: answered, Cause: cause, Explained: cause != Unexplained, at: at,
	})
}

// weight is the value of a series at a time, nil if there is none.
func (w *weights) weight(name string, at time.Duration) *float64 {
	if name == "" {
		return nil
	}
	s, err := w.set.Get(name)
	if err != nil {
		return nil
	}
	p, ok := s.At(at)
	if !ok {
		return nil
	}
	return &p.Value.Num
}

// gap is the first gap of the series inside an interval.
func (w *weights) gap(name string, at series.Interval) *series.Gap {
	s, err := w.set.Get(name)
	if err != nil {
		return nil
	}
	for _, g := range w.set.GapsOf(s.Resources, at) {
		return &g
	}
	return nil
}

// notSeen is the cause where the recorder's own watch was cut.
func (w *weights) notSeen(at series.Interval, names ...string) string {
	for _, name := range names {
		if g := w.gap(name, at); g != nil {
			return fmt.Sprintf("not known: the %s was cut for %s", g.Source(), seconds(g.To-g.From))
		}
	}
	return ""
}

// unwritten is the cause of a VirtualService that is not what the status says.
func (w *weights) unwritten(at series.Interval, states []series.Joint) string {
	if why := w.notSeen(at, w.Status, w.Stored); why != "" {
		return why
	}
	status, stored := states[0].Points[0], states[0].Points[1]
	if newer(stored, status) {
		return "controller has not written the status"
	}
	return "controller has not written the VirtualService"
}

// newer says which of two points was there last: in the store's order, where
// both have a place in it.
func newer(a, b series.Point) bool {
	if a.RV != 0 && b.RV != 0 {
		return a.RV > b.RV
	}
	return a.T > b.T
}

// undelivered is the cause of a delivered weight that is not the stored one.
func (w *weights) undelivered(at series.Interval, states []series.Joint) string {
	if why := w.notSeen(at, w.Stored); why != "" {
		return why
	}
	if g := w.gap(w.Delivered, at); g != nil {
		return fmt.Sprintf("not delivered: stream from istiod was down for %s", seconds(g.To-g.From))
	}
	if newer(states[0].Points[1], states[0].Points[0]) {
		return Unexplained // it delivered what nobody had stored
	}
	delivered := states[0].Points[1].Value
	for _, st := range states[1:] {
		if st.Points[1].Value == delivered {
			continue
		}
		if !w.wasStored(st.Points[1].Value, st.T) {
			return Unexplained
		}
		return fmt.Sprintf("not delivered: istiod was behind and delivered older weights for %s", seconds(at.To-at.From))
	}
	return fmt.Sprintf("not delivered: istiod delivered nothing for %s", seconds(at.To-at.From))
}

// wasStored says whether a weight had been stored at some time before.
func (w *weights) wasStored(v series.Value, before time.Duration) bool {
	s, err := w.set.Get(w.Stored)
	if err != nil {
		return false
	}
	for _, p := range s.Points {
		if p.T <= before && p.Value == v {
			return true
		}
	}
	return false
}
