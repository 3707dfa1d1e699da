package quota_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"reckon.dev/reckon/harness/model/quota"
)

// kernel plays bandwidth control as kernel/sched/fair.c has it (Linux 6.18), in steps
// of a tenth of a millisecond: a pool that is refilled each period, slices that CPUs
// take and keep, all but 1 ms given back by those that go idle, and CPUs that wait.
// Overruns are noticed every tick.
type kernel struct {
	limit quota.Limit
	cpus  []cpu

	pool, left time.Duration // of the quota, and until the period ends
	active     bool          // the timer runs
	asked      bool          // in this period
	quota.Count
}

type cpu struct {
	has     time.Duration
	waits   bool
	running bool
}

const (
	step  = 100 * time.Microsecond
	keeps = time.Millisecond
)

func newKernel(limit quota.Limit, cpus int) *kernel {
	return &kernel{limit: limit, cpus: make([]cpu, cpus), pool: limit.Quota()}
}

// advance plays one step in which the CPUs of wants have something to run.
func (k *kernel) advance(wants []bool) {
	for i := range k.cpus {
		c := &k.cpus[i]
		switch {
		case c.waits:
			if wants[i] {
				k.Lost += step
			}
		case wants[i]:
			c.running = true
			c.has -= step
			k.Use += step
			if c.has <= 0 && k.Span%quota.Tick == 0 {
				k.take(c)
			}
		case c.running:
			c.running = false
			if c.has > keeps {
				k.pool += c.has - keeps
				c.has = keeps
			}
		}
	}
	k.Span += step
	if k.active {
		if k.left -= step; k.left <= 0 {
			k.end()
		}
	}
}

func (k *kernel) take(c *cpu) {
	if !k.active {
		k.active, k.left = true, quota.Period
	}
	k.asked = true
	got := min(k.pool, quota.Slice-c.has)
	k.pool -= got
	c.has += got
	c.waits = c.has <= 0
}

func (k *kernel) end() {
	waiting := false
	for i := range k.cpus {
		waiting = waiting || k.cpus[i].waits
	}
	k.Periods++
	k.pool = min(k.pool+k.limit.Quota(), k.limit.Quota())
	k.left = quota.Period
	if !waiting && !k.asked {
		k.active = false
		return
	}
	k.asked = false
	if !waiting {
		return
	}
	k.Throttled++
	for i := range k.cpus {
		if c := &k.cpus[i]; c.waits {
			got := min(k.pool, step-c.has)
			k.pool -= got
			c.has += got
			c.waits = c.has <= 0
		}
	}
	k.asked = true
}

// load is bursts on some CPUs with pauses between.
type load struct {
	rng   *rand.Rand
	until []time.Duration
	busy  []bool
	burst time.Duration
	pause time.Duration
}

func (l *load) at(t time.Duration) []bool {
	for i := range l.busy {
		if t >= l.until[i] {
			l.busy[i] = !l.busy[i]
			mean := l.pause
			if l.busy[i] {
				mean = l.burst
			}
			l.until[i] = t + time.Duration(l.rng.ExpFloat64()*float64(mean))
		}
	}
	return l.busy
}

// The bounds must hold for whatever a program does, over any stretch of it.
func TestBoundsHoldForAnyLoad(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	throttled, tight := 0, 0
	for range 200 {
		cpus := 1 + rng.IntN(4)
		limit := quota.Limit(300 + 100*rng.IntN(20))
		k := newKernel(limit, cpus)
		l := &load{
			rng: rng, until: make([]time.Duration, cpus), busy: make([]bool, cpus),
			burst: time.Duration(1+rng.IntN(300)) * ms, pause: time.Duration(1+rng.IntN(500)) * ms,
		}
		var marks []quota.Count
		for k.Span < 8*time.Second {
			if k.Span%time.Second == 0 {
				marks = append(marks, k.Count)
			}
			k.advance(l.at(k.Span))
		}
		for i := range marks {
			for j := i + 1; j < len(marks); j++ {
				c := between(marks[i], marks[j])
				a := quota.Account{Limit: limit, CPUs: cpus}
				if c.Throttled > a.Most(c) || c.Throttled < a.Least(c) || c.Use > a.MostUse(c.Span) || c.Periods > quota.MostPeriods(c.Span) {
					t.Fatalf("limit %s on %d CPUs, bursts of %s every %s: %+v, throttled %d to %d, use up to %s", limit, cpus, l.burst, l.pause, c, a.Least(c), a.Most(c), a.MostUse(c.Span))
				}
				if c.Throttled > 0 {
					throttled++
					if 4*c.Throttled >= 3*a.Most(c) {
						tight++
					}
				}
			}
		}
	}
	if throttled < 1000 || tight < throttled/5 {
		t.Errorf("%d stretches were throttled, %d of them near the bound: the loads test nothing", throttled, tight)
	}
}

func between(a, b quota.Count) quota.Count {
	return quota.Count{Span: b.Span - a.Span, Use: b.Use - a.Use, Lost: b.Lost - a.Lost, Periods: b.Periods - a.Periods, Throttled: b.Throttled - a.Throttled}
}

// An idle group's periods are not counted, and a steady use of just its limit is
// never throttled: that is why use says nothing from below.
func TestIdleAndSteadyGroups(t *testing.T) {
	t.Parallel()
	idle := newKernel(600, 2)
	for idle.Span < 5*time.Second {
		idle.advance([]bool{idle.Span < 10*ms, false})
	}
	if idle.Periods != 2 || idle.Throttled != 0 {
		t.Errorf("idle: %+v, want the period in which it was busy and one more", idle.Count)
	}
	steady := newKernel(600, 2)
	for steady.Span < 5*time.Second {
		steady.advance([]bool{steady.Span%(10*ms) < 59*ms/10, false})
	}
	if steady.Throttled != 0 || steady.Use < 2900*ms {
		t.Errorf("steady: %+v", steady.Count)
	}
	bursts := newKernel(600, 2)
	for bursts.Span < 5*time.Second {
		bursts.advance([]bool{bursts.Use < (bursts.Span/time.Second+1)*200*ms, false})
	}
	if bursts.Throttled < 14 || bursts.Throttled > 16 {
		t.Errorf("200 ms of work each second: %+v, want three throttled periods in each", bursts.Count)
	}
}
