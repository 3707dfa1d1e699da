// Package quota is the answer key for limits on CPU: how many processors Istio's
// chart and Go's runtime make of one, and how many of the kernel's periods can have
// been throttled, given what was used. It is pure.
//
// The kernel gives a group Quota of CPU time in each Period, in slices for each CPU.
// Who finds nothing left waits for the next period; a period at whose end somebody
// waits is counted as throttled. A period in which nobody asked for time is, but for
// the first one in a row, not counted at all.
package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

const (
	// Period is what kubelets set, and the kernel's own default.
	Period = 100 * time.Millisecond
	// Slice is what a CPU takes of the quota at a time (sched_cfs_bandwidth_slice_us).
	Slice = 5 * time.Millisecond
	// Tick is by how much a CPU may overrun what it has: it is looked at 250 times a
	// second or more often, in the kernels of distributions.
	Tick = 4 * time.Millisecond
)

// Limit is limits.cpu in thousandths of a core. It reads as Kubernetes writes it:
// "600m", 1, "1.5".
type Limit int

// Core is a limit of one core.
const Core Limit = 1000

// String is such as "600m" or "2".
func (l Limit) String() string {
	if l%Core == 0 {
		return strconv.Itoa(int(l / Core))
	}
	return strconv.Itoa(int(l)) + "m"
}

// ParamType names the form for lists of parameters.
func (Limit) ParamType() string { return "cores, such as 600m or 2" }

// Pattern is that of the text form.
const Pattern = `^([0-9]{1,6}m|[0-9]{1,3}(\.[0-9]{1,3})?)$`

var pattern = regexp.MustCompile(Pattern)

// MarshalJSON writes the text form.
func (l Limit) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// UnmarshalJSON reads "600m", "1.5" and 2.
func (l *Limit) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if err := json.Unmarshal(raw, &text); err != nil {
		text = string(raw) // a number
	}
	if !pattern.MatchString(text) {
		return fmt.Errorf("%s is no number of cores: expected thousandths such as \"600m\", or cores such as 1 or \"1.5\"", raw)
	}
	if text[len(text)-1] == 'm' {
		n, err := strconv.Atoi(text[:len(text)-1])
		*l = Limit(n)
		return err
	}
	cores, err := strconv.ParseFloat(text, 64)
	*l = Limit(math.Round(cores * float64(Core)))
	return err
}

// Cores is the limit as a number.
func (l Limit) Cores() float64 { return float64(l) / float64(Core) }

// Quota is the CPU time of one period.
func (l Limit) Quota() time.Duration { return Period * time.Duration(l) / time.Duration(Core) }

// ChartProcs is GOMAXPROCS as Istio's chart sets it: the limit rounded up.
func (l Limit) ChartProcs() int { return int((l + Core - 1) / Core) }

// RuntimeProcs is GOMAXPROCS as Go's runtime chooses it, from 1.25 on, where nobody
// set it, on a machine of so many CPUs: the limit rounded up, but 2 at least.
func (l Limit) RuntimeProcs(cpus int) int { return min(max(l.ChartProcs(), 2), cpus) }

// MostPeriods is how many periods can be counted in a time.
func MostPeriods(span time.Duration) int64 { return int64(span/Period) + 1 }

// Burst is a stretch of work that nothing but the limit holds up.
type Burst struct {
	// Took is how long it takes, and Throttled how many of its periods are throttled.
	Took      time.Duration
	Throttled int
}

// Burst is what becomes of so much CPU time that is asked for at once by so many
// processors, where it begins with a period.
func (l Limit) Burst(work time.Duration, procs int) Burst {
	per := min(l.Quota(), Period*time.Duration(procs))
	full := int(work / per)
	rest := work - time.Duration(full)*per
	if rest == 0 && full > 0 {
		full, rest = full-1, per
	}
	b := Burst{Took: time.Duration(full)*Period + rest/time.Duration(procs)}
	if l.Quota() < Period*time.Duration(procs) {
		b.Throttled = full
	}
	return b
}

// Account is whose use is held against the kernel's count.
type Account struct {
	Limit Limit
	// CPUs of the machine.
	CPUs int
}

// Count is what was counted over a time.
type Count struct {
	Span time.Duration
	// Use is CPU time; Lost is for how long CPUs waited, all together.
	Use, Lost          time.Duration
	Periods, Throttled int64
}

// Exhausted is what is used at least in a period that is throttled: the quota, but
// for the slices that other CPUs hold. It is 0 or less where they can hold all of it.
func (a Account) Exhausted() time.Duration {
	return a.Limit.Quota() - time.Duration(a.CPUs-1)*Slice
}

// edge is what the first period of a time may have used before it, and what CPUs held
// or owed when it began.
func (a Account) edge() time.Duration {
	return a.Limit.Quota() + time.Duration(a.CPUs)*(Slice+Tick)
}

// Most is how many of the periods can have been throttled: each used up the quota.
func (a Account) Most(c Count) int64 {
	if a.Exhausted() <= 0 {
		return c.Periods
	}
	return min(c.Periods, int64((c.Use+a.edge())/a.Exhausted()))
}

// Least is how many must have been throttled for so much time to be lost. Use says
// nothing of it: a program that uses all of its limit evenly is never throttled. On
// more than two CPUs time is lost in periods that are not counted too, since what one
// CPU gives back lets another go on.
func (a Account) Least(c Count) int64 {
	if a.CPUs > 2 {
		return 0
	}
	most := time.Duration(a.CPUs)*Period - max(a.Exhausted(), 0)
	if most <= 0 {
		return 0
	}
	return int64(max(c.Lost-a.edge(), 0) / most)
}

// MostUse is the CPU time that the limit lets pass in a time.
func (a Account) MostUse(span time.Duration) time.Duration {
	if most := time.Duration(a.CPUs) * span; most < a.Limit.Quota()*time.Duration(MostPeriods(span)) {
		return most
	}
	return a.Limit.Quota()*time.Duration(MostPeriods(span)) + a.edge() - a.Limit.Quota()
}
