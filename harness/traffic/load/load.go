// Package load is a client of the workload under test. It sends requests at a
// constant rate, each when it is due and whatever became of the others, never
// twice, and writes a record of all of them (package traffic). It also writes
// which weights istiod delivered and when.
package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"reckon.dev/reckon/harness/traffic"
)

// transport sends requests.
type transport interface {
	// ready returns when requests can be sent, or with why they cannot when ctx ends.
	ready(ctx context.Context) error
	// send sends one request and waits for its answer until ctx ends.
	send(ctx context.Context) outcome
	close()
}

func (c Config) transport() (transport, error) {
	if c.Transport == HTTP {
		return newHTTP(c)
	}
	return newGRPC(c)
}

// Run sends requests and writes the record to out until the duration is over or
// ctx ends; then it waits for the requests in flight and ends the record. It
// fails if out cannot be written to, or if ctx ends before the first request.
func Run(ctx context.Context, cfg Config, out io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var broken error // written by the sink's goroutine, which ends before it is read
	record := traffic.NewSink(out, func(err error) {
		broken = err
		cancel(err)
	})
	err := run(ctx, cfg, record)
	record.Close()
	if broken != nil {
		return broken
	}
	return err
}

func run(ctx context.Context, cfg Config, record *traffic.Sink) error {
	t, err := cfg.transport()
	if err != nil {
		return err
	}
	defer t.close()
	var watch sync.WaitGroup
	defer watch.Wait()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx)) // until the last request has ended
	defer stopWatching()
	if cfg.Transport == GRPC {
		w := newWatcher(cfg, record.Put)
		watch.Go(func() { w.run(watching) })
		if err := w.await(ctx); err != nil {
			return err
		}
	}
	if err := t.ready(ctx); err != nil {
		return err
	}

	start := time.Now()
	record.Put(traffic.Line{Hello: &traffic.Hello{Client: cfg.Client, PID: os.Getpid(), StartNS: start.UnixNano(), Settings: cfg.settings()}})
	counts := newBins(cfg.Bin, start, record.Put)
	s := &schedule{cfg: cfg, start: start, bins: counts, send: t.send}
	s.run(ctx)

	stopWatching()
	watch.Wait()
	end := counts.totals()
	end.AtNS = time.Now().UnixNano()
	record.Put(traffic.Line{End: &end})
	return nil
}

// await waits for the first weights.
func (w *watcher) await(ctx context.Context) error {
	select {
	case <-w.first:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("istiod at %s delivered no routes to %s: %w", w.cfg.Istiod, w.cfg.Target, context.Cause(ctx))
	}
}
