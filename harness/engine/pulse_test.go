package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
)

// looks plays samplers of replicas on a clock that a test moves.
type looks struct {
	*pulse
	t     *testing.T
	clock *testingclock.FakePassiveClock
	begin time.Time
	next  map[string]record.Sampler
	out   []recording.Sample
	err   error
}

func newLooks(t *testing.T) *looks {
	begin := time.Unix(0, 0)
	c := testingclock.NewFakePassiveClock(begin)
	return &looks{pulse: newPulse(c), t: t, clock: c, begin: begin, next: map[string]record.Sampler{}}
}

func (l *looks) begins(ctx context.Context, replica string) {
	l.next[replica] = l.watch(ctx, replica, record.Sampler{Sample: func(context.Context) ([]recording.Sample, error) { return l.out, l.err }})
}

// at looks at a replica.
func (l *looks) at(second int, replica string, err error, series ...string) {
	l.clock.SetTime(l.begin.Add(time.Duration(second) * time.Second))
	l.out, l.err = nil, err
	for _, s := range series {
		l.out = append(l.out, recording.Sample{Series: s})
	}
	_, _ = l.next[replica].Sample(l.t.Context())
}

func (l *looks) want(what string, want bool, since, long int) {
	l.t.Helper()
	if got, _ := l.quiet(l.begin.Add(time.Duration(since)*time.Second), time.Duration(long)*time.Second); got != want {
		l.t.Errorf("%s: quiet for %d s since %d s is %t", what, long, since, got)
	}
}

func TestQuietIsWhatLooksHaveShown(t *testing.T) {
	t.Parallel()
	l := newLooks(t)
	l.want("there is no istiod", false, 0, 0)
	l.begins(t.Context(), "a")
	l.at(0, "a", nil, "process_open_fds", sentSeries)
	l.at(1, "a", nil, "process_open_fds")
	l.at(2, "a", nil)
	l.want("for two seconds", true, 0, 2)
	l.want("not for three", false, 0, 3)
	l.want("nor for two from a second on", false, 1, 2)
	l.at(3, "a", nil, sentSeries)
	l.want("it sends again", false, 0, 1)
	l.at(9, "a", errors.New("no answer"))
	l.want("what could not be seen was not quiet", false, 0, 1)
	l.at(9, "a", nil)
	l.want("and what was seen was", true, 3, 6)
}

func TestQuietIsOfAllReplicas(t *testing.T) {
	t.Parallel()
	l := newLooks(t)
	b, gone := context.WithCancel(t.Context())
	l.begins(t.Context(), "a")
	l.begins(b, "b")
	l.at(0, "a", nil, sentSeries)
	l.at(0, "b", nil, sentSeries)
	l.at(5, "a", nil)
	l.want("b was not looked at", false, 0, 5)
	gone()
	l.awaitForgotten("b")
	l.want("b is gone", true, 0, 5)
	l.at(6, "b", nil, sentSeries)
	l.want("and does not come back", true, 0, 5)
}

// awaitForgotten waits for what a context's end does.
func (l *looks) awaitForgotten(replica string) {
	for {
		l.mu.Lock()
		_, there := l.replicas[replica]
		changed := l.changed
		l.mu.Unlock()
		if !there {
			return
		}
		<-changed
	}
}

func TestWhoWaitsForQuietIsToldThatItDoesNotCome(t *testing.T) {
	t.Parallel()
	l := newLooks(t)
	if err := l.AwaitQuiet(t.Context(), time.Second, time.Millisecond); !errors.Is(err, stage.ErrNotReached) {
		t.Errorf("error %v", err)
	}
	why := errors.New("ctrl-c")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := l.AwaitQuiet(ctx, time.Second, time.Minute); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	l.begins(t.Context(), "a")
	done := make(chan error)
	go func() { done <- l.AwaitQuiet(t.Context(), 0, time.Minute) }()
	l.at(1, "a", nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
