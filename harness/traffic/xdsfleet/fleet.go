package xdsfleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"reckon.dev/reckon/harness/traffic"
)

// fleet are the proxies.
type fleet struct {
	cfg     Config
	journal *journal
	pick    Picker
	ready   *readySet // nil if there is one address for all
	next    int       // number of the next proxy

	proxies sync.WaitGroup
}

// Run keeps the proxies connected and writes the record to out until ctx ends; then
// it closes all connections and ends the record. It fails if out cannot be written
// to, if a line of control is wrong, if there are too few file descriptors, or if
// ctx ends before the first proxy begins. What reads control may outlive it, until
// control ends.
func Run(ctx context.Context, cfg Config, control io.Reader, out io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if err := enoughFiles(cfg.Proxies); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	record := traffic.NewSink(out, func(err error) { cancel(failure{err}) })
	commands := make(chan command)
	go func() {
		take := func(c command) bool {
			select {
			case commands <- c:
				return true
			case <-ctx.Done():
				return false
			}
		}
		if err := readOrders(control, take); err != nil {
			cancel(failure{err})
		}
	}()
	f := &fleet{cfg: cfg, next: cfg.First}
	err := f.run(ctx, commands, record.Put)
	record.Close()
	if broken, ok := errors.AsType[failure](context.Cause(ctx)); ok {
		return broken.error
	}
	return err
}

// failure ends a fleet.
type failure struct{ error }

func (f *fleet) run(ctx context.Context, commands <-chan command, put func(traffic.Line)) error {
	f.pick = service(f.cfg.Istiod)
	if f.cfg.Istiod == "" {
		f.ready = &readySet{}
		f.pick = f.ready
		if err := f.awaitReady(ctx, commands); err != nil {
			return err
		}
	}
	start := time.Now()
	put(traffic.Line{Hello: &traffic.Hello{Client: f.cfg.Client, PID: os.Getpid(), StartNS: start.UnixNano(), Fleet: f.cfg.settings()}})
	f.journal = newJournal(start, put)
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx)) // until the last proxy has left
	var writer sync.WaitGroup
	writer.Go(func() { f.journal.run(writing) })

	ctx, leave := context.WithCancelCause(ctx)
	f.begin(ctx, f.cfg.Proxies, f.cfg.Over, !f.cfg.Together)
	err := f.obey(ctx, commands)

	leave(err)
	f.proxies.Wait()
	stopWriting()
	writer.Wait()
	if err == nil {
		f.journal.end()
	}
	return err
}

// awaitReady waits until any replica is ready.
func (f *fleet) awaitReady(ctx context.Context, commands <-chan command) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no replica was said to be ready on standard input: %w", context.Cause(ctx))
		case c := <-commands:
			if !c.setReady {
				return errors.New("the fleet is to grow before any replica was said to be ready")
			}
			if f.ready.set(c.ready); len(c.ready) > 0 {
				return nil
			}
		}
	}
}

// obey does what it is told until ctx ends.
func (f *fleet) obey(ctx context.Context, commands <-chan command) error {
	for {
		select {
		case <-ctx.Done():
			if broken, ok := errors.AsType[failure](context.Cause(ctx)); ok {
				return broken.error
			}
			return nil
		case c := <-commands:
			if err := f.do(ctx, c); err != nil {
				return err
			}
		}
	}
}

func (f *fleet) do(ctx context.Context, c command) error {
	if !c.setReady {
		all := f.next - f.cfg.First + c.grow
		if f.next+c.grow > mostProxies {
			return fmt.Errorf("the fleet is to grow to %d proxies from number %d on, want up to %d", all, f.cfg.First, mostProxies)
		}
		if err := enoughFiles(all); err != nil {
			return err
		}
		f.begin(ctx, c.grow, c.over, false)
		return nil
	}
	if f.ready == nil {
		return errors.New("replicas are said to be ready to a fleet with -istiod, where others choose")
	}
	f.ready.set(c.ready)
	return nil
}

// begin lets proxies begin, evenly over a time. With rests they are as after a long
// time. It does not wait for them.
func (f *fleet) begin(ctx context.Context, n int, over time.Duration, rests bool) {
	first, start := f.next, time.Now()
	f.next += n
	f.proxies.Go(func() {
		for i := range n {
			sleep(ctx, time.Until(start.Add(over*time.Duration(i)/time.Duration(n))))
			if ctx.Err() != nil {
				return
			}
			p := f.proxy(first+i, rests)
			f.proxies.Go(func() { p.run(ctx) })
		}
	})
}

// proxy makes one with randomness of its own.
func (f *fleet) proxy(number int, rests bool) *proxy {
	p := &proxy{
		cfg: &f.cfg, journal: f.journal, pick: f.pick, number: number,
		random: rand.New(rand.NewPCG(f.cfg.Seed, uint64(number))), config: config{},
	}
	if rests {
		least, most := f.cfg.lives()
		p.rest = rest(least, most, p.random)
	}
	return p
}
