package traffic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// ErrNotWhole is what errors match that say the record itself is not to be
// trusted: lines are missing, counts do not add up, or clocks disagree. Other
// errors of Tap.Read are the reader's own, and reading may be resumed.
var ErrNotWhole = errors.New("the client's record is not whole")

// Bounds of a Tap that was not told others.
const (
	// defaultEarly allows for clocks of one machine that are read at different
	// moments; more would be another clock.
	defaultEarly = 20 * time.Millisecond
	// defaultDelay is generous to a busy kubelet, which reads and forwards logs.
	defaultDelay = 5 * time.Second
)

// quickReturn is how soon a stream that istiod closed for its age has to be back
// to count as not interrupted: istiod debounces changes for 100 ms and delivers
// those that it missed with the first answer.
const quickReturn = time.Second

// maxLine bounds one line, in bytes: with a hundred pods and many causes a bin
// has some 10 kB.
const maxLine = 1 << 20

// TapConfig says whose lines are read and by which clock.
type TapConfig struct {
	// Client is the name that the client must give itself. Lines that are not its
	// record are kept as log lines of the component "traffic-<client>".
	Client string
	// Base is t = 0 of the recording.
	Base time.Time
	// Now is the recording's clock; like Base it should have a monotonic reading.
	Now func() time.Time
	// Early is by how much a bin may be received before it ended, on account of
	// clocks; 0 means 20 ms.
	Early time.Duration
	// Delay is how long after the time limit of its last request a bin may be
	// received; 0 means 5 s. It does not hold for what a log already had when
	// reading began, during as much time.
	Delay time.Duration
}

// Tap reads the lines of one client and emits them as facts. It is for one
// goroutine, except for Started.
type Tap struct {
	cfg     TapConfig
	emit    func(recording.Fact)
	started chan struct{}

	next   int64  // number of the next line
	hello  *Hello // nil until it was said
	ended  *End
	seq    int64 // number of the next bin
	edgeNS int64 // where it has to begin
	totals End
	up     bool
	down   *Stream // the end of a stream that is not back yet
	fleet  *book   // nil if the client is no fleet
	began  time.Time
}

// NewTap emits facts from the goroutine that calls Read.
func NewTap(cfg TapConfig, emit func(recording.Fact)) *Tap {
	if cfg.Early == 0 {
		cfg.Early = defaultEarly
	}
	if cfg.Delay == 0 {
		cfg.Delay = defaultDelay
	}
	return &Tap{cfg: cfg, emit: emit, started: make(chan struct{})}
}

// Started is closed when the client has said hello: its requests are under way.
func (t *Tap) Started() <-chan struct{} { return t.started }

// Ended says whether the client has said how much it did, its last line.
func (t *Tap) Ended() bool { return t.ended != nil }

// Hello is what the client said of itself, or nil.
func (t *Tap) Hello() *Hello { return t.hello }

// Read reads until the end of r, which is no error. It may be called again with
// a log that was opened anew: what was read already is passed over, and a part
// of a line at the end of r is expected to come again.
func (t *Tap) Read(r io.Reader) error {
	t.began = t.cfg.Now()
	lines := bufio.NewReaderSize(r, 64<<10)
	last := int64(-1) // number of the last line of this reader
	for {
		raw, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(raw, "{") {
			t.send(recording.Fact{Log: &recording.Log{Component: "traffic-" + t.cfg.Client, Line: raw}})
			continue
		}
		if last, err = t.line([]byte(raw), last); err != nil {
			return err
		}
	}
}

// Close ends the record. It is an error if the client did not end it.
func (t *Tap) Close() error {
	if t.down != nil {
		t.gap(t.cfg.Now().Sub(t.cfg.Base).Nanoseconds(), "not back when the record ended", false)
	}
	if t.ended == nil {
		t.lost()
		return broken("the client did not say that it ended: its last line is number %d", t.next-1)
	}
	return nil
}

// readLine returns a line without its end. A part of one is none.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", broken("a line of more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return "", err
		}
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}

// line takes one line of the record. It returns its number.
func (t *Tap) line(raw []byte, last int64) (int64, error) {
	l, err := decode(raw)
	if err != nil {
		return last, broken("a line after number %d: %v: %.120s", t.next-1, err, raw)
	}
	switch {
	case last >= 0 && l.N != last+1:
		return last, broken("line %d follows line %d", l.N, last)
	case l.N < 0 || l.N > t.next:
		return last, broken("lines %d to %d are missing", t.next, l.N-1)
	case l.N < t.next:
		return l.N, t.again(l)
	case t.ended != nil:
		return last, broken("line %d comes after the last one", l.N)
	}
	if err := t.take(l); err != nil {
		return last, fmt.Errorf("line %d: %w", l.N, err)
	}
	t.next++
	return l.N, nil
}

// again refuses a line of an old number that another process wrote.
func (t *Tap) again(l Line) error {
	if l.Hello != nil && t.hello != nil && *l.Hello != *t.hello {
		return broken("the client started again: it was process %d, it is process %d", t.hello.PID, l.Hello.PID)
	}
	return nil
}

func (t *Tap) take(l Line) error {
	switch {
	case l.Hello != nil:
		return t.greet(l.Hello)
	case l.Bin != nil:
		return t.bin(l.Bin)
	case l.Weights != nil:
		return t.weights(l.Weights)
	case l.Stream != nil:
		return t.stream(l.Stream)
	case l.Connections != nil:
		return t.connections(l.Connections)
	}
	return t.end(l.End)
}

func (t *Tap) greet(h *Hello) error {
	switch {
	case t.hello != nil:
		return broken("the client says hello twice")
	case h.Client != t.cfg.Client:
		return broken("the client is %q, want %q", h.Client, t.cfg.Client)
	case h.Fleet == (FleetSettings{}) && h.Settings.Rate <= 0:
		return broken("a rate of %g requests a second", h.Settings.Rate)
	case h.Settings.TimeoutNS < 0:
		return broken("a time limit of %d ns", h.Settings.TimeoutNS)
	}
	t.hello, t.edgeNS = h, h.StartNS
	if h.Fleet != (FleetSettings{}) {
		t.fleet = newBook()
	}
	close(t.started)
	return nil
}

func (t *Tap) bin(b *Bin) error {
	if err := t.checkBin(b); err != nil {
		return err
	}
	answered, failed := b.Counts()
	t.seq++
	t.edgeNS = b.ToNS
	t.totals.Bins++
	t.totals.Due += b.Due
	t.totals.Answered += answered
	t.totals.Failed += failed
	t.send(recording.Fact{Traffic: &recording.Traffic{
		Client: t.cfg.Client, Seq: b.Seq, FromNS: t.offset(b.FromNS), ToNS: t.offset(b.ToNS), Due: b.Due,
		Answers: b.Answers, Failures: b.Failures, LateNS: b.LateNS, Latency: b.Latency,
	}})
	return nil
}

// checkBin refuses a bin that does not follow the last one, does not add up, or
// was not received when it should have been.
func (t *Tap) checkBin(b *Bin) error {
	switch {
	case t.hello == nil:
		return broken("requests before the client said hello")
	case t.fleet != nil:
		return broken("requests of a fleet, which sends none")
	case b.Seq != t.seq:
		return broken("bin %d follows bin %d", b.Seq, t.seq-1)
	case b.FromNS != t.edgeNS:
		return broken("bin %d begins %v after the last one ended", b.Seq, time.Duration(b.FromNS-t.edgeNS))
	case b.ToNS <= b.FromNS:
		return broken("bin %d lasts %v", b.Seq, time.Duration(b.ToNS-b.FromNS))
	case b.LateNS < 0:
		return broken("bin %d was sent %v before it was due", b.Seq, time.Duration(-b.LateNS))
	}
	if err := checkCounts(b); err != nil {
		return err
	}
	if !t.onSchedule(b) {
		return broken("bin %d has %d requests due in %v, at %g a second", b.Seq, b.Due, time.Duration(b.ToNS-b.FromNS), t.hello.Settings.Rate)
	}
	return t.checkClock(b)
}

// onSchedule says whether so many requests were due in the bin: request k is due
// k/rate after the start, up to the grain of a rounded instant at either end. What
// a client did not count it did not measure.
func (t *Tap) onSchedule(b *Bin) bool {
	want := t.hello.Settings.Rate * time.Duration(b.ToNS-b.FromNS).Seconds()
	return math.Abs(float64(b.Due)-want) <= 1
}

func checkCounts(b *Bin) error {
	var slow int64
	least := int64(1)
	for _, x := range b.Answers {
		least = min(least, x.N)
	}
	for _, x := range b.Failures {
		least = min(least, x.N)
	}
	for _, x := range b.Latency {
		least, slow = min(least, x.N), slow+x.N
	}
	answered, failed := b.Counts()
	switch {
	case least < 1:
		return broken("bin %d counts %d of something", b.Seq, least)
	case answered+failed != b.Due:
		return broken("bin %d: %d requests were due, %d were answered and %d failed", b.Seq, b.Due, answered, failed)
	case slow != answered:
		return broken("bin %d: %d requests were answered, %d have a latency", b.Seq, answered, slow)
	}
	return nil
}

// checkClock compares the client's clock with the recording's by when a bin was
// received: after it ended, and before it is too old.
func (t *Tap) checkClock(b *Bin) error {
	return t.checkAge(fmt.Sprintf("bin %d", b.Seq), b.ToNS, time.Duration(t.hello.Settings.TimeoutNS+b.LateNS)+t.cfg.Delay)
}

// checkAge looks when something was received that ended at an instant.
func (t *Tap) checkAge(what string, toNS int64, limit time.Duration) error {
	now := t.cfg.Now()
	age := now.Sub(t.cfg.Base) - time.Duration(t.offset(toNS))
	if age < -t.cfg.Early {
		return broken("%s was received %v before it ended: the clocks disagree", what, -age)
	}
	if age > limit && now.Sub(t.began) > t.cfg.Delay {
		return broken("%s was received %v after it ended, the limit is %v: the clocks disagree, or the log is not followed", what, age, limit)
	}
	return nil
}

func (t *Tap) weights(w *Weights) error {
	if !t.up {
		return broken("weights of route %q without a stream", w.Route)
	}
	for _, target := range slices.Sorted(maps.Keys(w.Percent)) {
		t.send(recording.Fact{Sample: &recording.Sample{
			Series: recording.DeliveredWeight, Labels: map[string]string{"route": w.Route, "target": target},
			Value: w.Percent[target], AtNS: t.offset(w.AtNS),
		}})
	}
	return nil
}

func (t *Tap) stream(s *Stream) error {
	if s.Up == t.up {
		return broken("the stream from istiod is said to be up (%t) twice", s.Up)
	}
	t.up = s.Up
	switch {
	case !s.Up:
		t.down = s
	case t.down != nil:
		away := time.Duration(s.AtNS - t.down.AtNS)
		lossless := s.Same && t.down.Planned && away < quickReturn
		weights := "other weights"
		if s.Same {
			weights = "the same weights"
		}
		t.gap(t.offset(s.AtNS), fmt.Sprintf("back after %v with %s", away, weights), lossless)
	}
	return nil
}

// gap emits the time without a stream.
func (t *Tap) gap(toNS int64, how string, lossless bool) {
	t.send(recording.Fact{Gap: &recording.Gap{
		Resource: recording.Delivered, FromNS: t.offset(t.down.AtNS), ToNS: toNS, Lossless: lossless, Reason: t.down.Reason + "; " + how,
	}})
	t.down = nil
}

func (t *Tap) end(e *End) error {
	if want := (End{AtNS: e.AtNS, Bins: t.totals.Bins, Due: t.totals.Due, Answered: t.totals.Answered, Failed: t.totals.Failed, Fleet: t.Fleet()}); *e != want {
		return broken("the client counts %+v, its lines %+v", *e, want)
	}
	if t.fleet != nil {
		if err := t.fleet.over(); err != nil {
			return err
		}
	}
	if t.down != nil {
		t.gap(t.offset(e.AtNS), "not back when the client ended", false)
	}
	t.ended = e
	return nil
}

// offset is an instant of the client on the recording's clock.
func (t *Tap) offset(unixNS int64) int64 { return unixNS - t.cfg.Base.UnixNano() }

func (t *Tap) send(f recording.Fact) {
	f.T = t.cfg.Now().Sub(t.cfg.Base).Nanoseconds()
	t.emit(f)
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotWhole, fmt.Sprintf(format, args...))
}
