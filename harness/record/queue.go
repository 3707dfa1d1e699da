package record

import (
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
)

const (
	// queueLength bounds the facts that wait for the writer; with bodies of a
	// few KiB it holds some ten MiB.
	queueLength = 4096
	// stallLimit is how long a full queue may delay time stamps unrecorded.
	stallLimit = 50 * time.Millisecond
)

// queue puts facts in order of receipt: the time stamp and the place in the
// queue are given under one lock, before any decoding or encoding. What is
// slow happens afterwards, in parallel, and the writer waits for it.
type queue struct {
	now     func() time.Duration
	mu      sync.Mutex
	closed  bool
	tickets chan *ticket
}

// ticket is a place in the order of receipt.
type ticket struct {
	fact recording.Fact
	// pending is zero once the fact is complete.
	pending sync.WaitGroup
	// dropped: there is no fact after all.
	dropped bool
}

func newQueue(now func() time.Duration) *queue {
	return &queue{now: now, tickets: make(chan *ticket, queueLength)}
}

// take reserves the next place and returns its ticket, to be completed with
// exactly one of keep and drop.
func (q *queue) take() *ticket {
	t := &ticket{}
	t.pending.Add(1)
	q.put(t)
	return t
}

func (t *ticket) keep(o *recording.Object) {
	t.fact.Object = o
	t.pending.Done()
}

func (t *ticket) drop() {
	t.dropped = true
	t.pending.Done()
}

// put stamps and queues tickets. When the writer is behind it blocks, which
// delays the stamps of others; that is recorded as lateness of "recorder".
func (q *queue) put(tickets ...*ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	now := q.now()
	for _, t := range tickets {
		t.fact.T = int64(now)
		select {
		case q.tickets <- t:
		default:
			q.stall(t)
		}
	}
}

func (q *queue) stall(t *ticket) {
	q.tickets <- t
	late := q.now() - time.Duration(t.fact.T)
	if late < stallLimit {
		return
	}
	q.tickets <- &ticket{fact: recording.Fact{
		T:    t.fact.T,
		Late: &recording.Late{Sampler: "recorder", ByNS: int64(late)},
	}}
}

// close ends the queue; what is in it is still to be written.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.tickets)
	}
}
