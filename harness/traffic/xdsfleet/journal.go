package xdsfleet

import (
	"context"
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
)

const (
	// tick is how often events are written. How late a tick comes is how late an
	// event may have been noticed.
	tick = 100 * time.Millisecond
	// tardy is worth a line of its own.
	tardy = tick / 2
	// quiet is the most time between two lines.
	quiet = time.Second
	// most is how many events a line has at most: each has less than 500 bytes, and a
	// line has to stay below 1 MiB.
	most = 1000
)

// journal collects events. Their times are those at which they were told of, on
// one monotonic clock, so that they are in order.
type journal struct {
	put   func(traffic.Line)
	start time.Time

	mu     sync.Mutex
	events []recording.Connection
	totals traffic.FleetTotals
	edgeNS int64 // where the next line begins
}

func newJournal(start time.Time, put func(traffic.Line)) *journal {
	return &journal{put: put, start: start, edgeNS: start.UnixNano()}
}

// nowNS is since the Unix epoch.
func (j *journal) nowNS() int64 { return j.start.UnixNano() + time.Since(j.start).Nanoseconds() }

// add takes an event as of now, and returns when that is. Its age is that of a
// connection since sinceNS, unless that is 0.
func (j *journal) add(e recording.Connection, sinceNS int64) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.AtNS = j.nowNS()
	if sinceNS != 0 {
		e.AgeNS = e.AtNS - sinceNS
	}
	j.events = append(j.events, e)
	j.totals.Add(e.Event)
	return e.AtNS
}

// run writes lines until ctx ends.
func (j *journal) run(ctx context.Context) {
	due := j.start
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due = due.Add(tick)
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		late := time.Since(due)
		j.write(late, false)
		due = due.Add(late.Truncate(tick)) // what was missed is not made up for
	}
}

// write writes what happened since the last line, if anything did or it is time.
func (j *journal) write(late time.Duration, always bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	toNS := j.nowNS()
	if len(j.events) == 0 && late <= tardy && toNS-j.edgeNS < int64(quiet) && !always {
		return
	}
	for len(j.events) > most {
		part := j.events[:most:most]
		j.line(part, part[most-1].AtNS, 0)
		j.events = j.events[most:]
	}
	j.line(j.events, toNS, max(0, late))
	j.events = nil
}

func (j *journal) line(events []recording.Connection, toNS int64, late time.Duration) {
	j.put(traffic.Line{Connections: &traffic.Connections{
		Seq: j.totals.Intervals, FromNS: j.edgeNS, ToNS: toNS, Events: events, LateNS: late.Nanoseconds(),
	}})
	j.totals.Intervals++
	j.edgeNS = toNS
}

// end writes the rest and the totals.
func (j *journal) end() {
	j.write(0, true)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.put(traffic.Line{End: &traffic.End{AtNS: j.edgeNS, Fleet: j.totals}})
}
