package record

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// gap is the interval in which a watch was not served, while it is open.
type gap struct {
	mu   sync.Mutex
	open bool
	lost bool
	over chan struct{} // closed when an open gap ends
	// seen is the last sign of life before: an event, a bookmark or a Sync. broke is
	// when the end of the stream was noticed; orderly, that the server ended it.
	seen, broke time.Duration
	orderly     bool
	reason      string
}

// lose notes that changes inside the gap cannot be had any more.
func (g *gap) lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = true
}

// from is where the gap begins. A stream that the server ended in order was
// good up to its end, so nothing older is in doubt if it can be resumed. In all
// other cases only the last sign of life is certain.
func (g *gap) from() time.Duration {
	if g.orderly && !g.lost {
		return g.broke
	}
	return g.seen
}

// pending returns a channel that is closed when the open gap ends, nil if none is.
func (g *gap) pending() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return nil
	}
	return g.over
}

// openGap begins a gap, or extends the one that is open.
func (w *watch) openGap(err error) {
	w.gap.mu.Lock()
	defer w.gap.mu.Unlock()
	if w.gap.open {
		return
	}
	reason := fmt.Sprintf("the watch was cut: %v", err)
	if err == io.EOF {
		reason = "the server closed the watch"
	}
	w.gap.open, w.gap.lost, w.gap.over = true, false, make(chan struct{})
	w.gap.seen, w.gap.broke = w.live.lastSign(), w.r.now()
	w.gap.orderly, w.gap.reason = orderly(err), reason
}

// closeGap ends the gap, if one is open, once the watch has delivered what a
// list made now holds. Events of the backlog come with late receipt times, so
// the gap covers them.
func (w *watch) closeGap(ctx context.Context) {
	open := w.gap.pending() != nil
	for backoff := minBackoff; open && ctx.Err() == nil; backoff = min(2*backoff, maxBackoff) {
		if w.sync(ctx) == nil {
			w.writeGap("")
			return
		}
		w.pause(ctx, backoff)
	}
}

// endGap ends, as lossy, a gap that was still open when the recorder stopped.
func (w *watch) endGap() {
	w.gap.lose()
	w.writeGap("; it was still open when the recorder stopped")
}

func (w *watch) writeGap(suffix string) {
	w.gap.mu.Lock()
	defer w.gap.mu.Unlock()
	if !w.gap.open {
		return
	}
	w.gap.open = false
	defer close(w.gap.over)
	if w.gap.lost && suffix == "" {
		suffix = "; its version had expired and the resource was listed anew"
	}
	w.r.emit(recording.Fact{Gap: &recording.Gap{
		Resource: w.name,
		FromNS:   int64(w.gap.from()), ToNS: int64(w.r.now()),
		Lossless: !w.gap.lost,
		Reason:   w.gap.reason + suffix,
	}})
}
