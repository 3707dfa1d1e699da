package incluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrLogIncomplete: lines of a log may be missing.
var ErrLogIncomplete = errors.New("lines of the log may be missing")

const (
	// overlap is how far a resumed read reaches back. Lines of the two streams
	// of a container are written by two goroutines of the runtime, so that the
	// times of neighbours may be out of order by a little.
	overlap = 5 * time.Second
	// sweepTime is how long reading the rest of a log may take.
	sweepTime = 5 * time.Second
)

// FollowLog hands each line of a container's log to onLine, in order, those
// written before it began included, until the container ends or ctx does. It
// returns nil when every line up to there was handed over, ErrLogIncomplete
// (with the reason) when it cannot be sure, and an error when there is no such
// container. It follows the container that it finds running, or waits for one
// to start; one that starts after that has ended is another log.
//
// A stream can break without a sign: the API server ends it in the same way
// when the container is gone and when the kubelet is. So the end of a stream
// never counts as the end of the log: the pod's status does. Each further read
// begins before the last line and must repeat what was handed over already,
// line for line; a file that was rotated meanwhile does not.
func (c *Client) FollowLog(ctx context.Context, of Container, onLine func(line string)) error {
	f := &follower{client: c, of: of, onLine: onLine}
	if err := f.start(ctx); err != nil {
		return err
	}
	for {
		streamErr := f.read(ctx, false, true)
		if errors.Is(streamErr, ErrLogIncomplete) || apierrors.IsForbidden(streamErr) || apierrors.IsUnauthorized(streamErr) {
			return streamErr
		}
		if ctx.Err() != nil { // what was written until now
			return f.sweep(ctx, false)
		}
		switch state, err := f.state(ctx); {
		case err != nil:
			return errors.Join(err, streamErr)
		case state == endedCurrent, state == endedPrevious:
			return f.sweep(ctx, state == endedPrevious)
		}
		if sleep(ctx, poll) != nil {
			return f.sweep(ctx, false)
		}
	}
}

// follower follows one run of a container.
type follower struct {
	client *Client
	of     Container
	onLine func(string)

	uid types.UID
	id  string // of the container, by its runtime

	last   time.Time // the latest time of a line
	recent []entry   // lines handed over, from overlap before last on
}

// entry is a line of a log with the time at which the runtime wrote it.
type entry struct {
	at   time.Time
	line string
}

// instance is what became of the run of a container that is followed.
type instance int

const (
	running       instance = iota
	endedCurrent           // and its log is still the container's current one
	endedPrevious          // and its log is the container's previous one
	starting
)

// start finds the run of the container to follow, and waits for one if there is
// none yet. A context that ends meanwhile found no line to lose.
func (f *follower) start(ctx context.Context) error {
	for {
		pod, err := f.pod(ctx)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("the log of %s: %w", f.of, err)
		}
		if err == nil {
			f.uid = pod.UID
			if s := statusOf(pod, f.of.Name); s != nil && (s.State.Running != nil || s.State.Terminated != nil) {
				f.id = s.ContainerID
				return nil
			}
			if !hasContainer(pod, f.of.Name) {
				return fmt.Errorf("pod %s has no container %s", f.of.Pod, f.of.Name)
			}
		}
		if err := sleep(ctx, poll); err != nil {
			return fmt.Errorf("waiting for %s to start: %w", f.of, err)
		}
	}
}

func hasContainer(pod *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			if c.Name == name {
				return true
			}
		}
	}
	return false
}

func (f *follower) pod(ctx context.Context) (*corev1.Pod, error) {
	return f.client.Kube.CoreV1().Pods(f.of.Namespace).Get(ctx, f.of.Pod, metav1.GetOptions{})
}

// state says what became of the run, trying until the API server answers.
func (f *follower) state(ctx context.Context) (instance, error) {
	for {
		pod, err := f.pod(ctx)
		if apierrors.IsNotFound(err) || err == nil && !sameObject(pod, f.uid) {
			return 0, fmt.Errorf("%w: pod %s is gone", ErrLogIncomplete, f.of.Pod)
		}
		if err == nil {
			return instanceOf(statusOf(pod, f.of.Name), f.id)
		}
		if sleep(ctx, poll) != nil {
			return running, nil // the caller looks at ctx
		}
	}
}

// instanceOf finds the run with a container's id in its status.
func instanceOf(s *corev1.ContainerStatus, id string) (instance, error) {
	switch {
	case s == nil:
		return starting, nil
	case s.State.Running != nil && s.ContainerID == id:
		return running, nil
	case s.State.Terminated != nil && s.State.Terminated.ContainerID == id:
		return endedCurrent, nil
	case s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.ContainerID == id:
		return endedPrevious, nil
	case s.State.Waiting != nil && s.ContainerID == id:
		return starting, nil // between two reports of the kubelet
	}
	return 0, fmt.Errorf("%w: container %s restarted more than once", ErrLogIncomplete, s.Name)
}

// sweep reads the rest of a log that nobody writes to any more, or what there
// is at the moment. The context may have ended.
func (f *follower) sweep(ctx context.Context, previous bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	defer cancel()
	for {
		err := f.read(ctx, previous, false)
		if err == nil || errors.Is(err, ErrLogIncomplete) {
			return err
		}
		if apierrors.IsNotFound(err) || sleep(ctx, poll) != nil {
			return fmt.Errorf("%w: reading the end of the log of %s: %w", ErrLogIncomplete, f.of, err)
		}
	}
}

// read reads the log once, from the beginning or from before the last line on.
// It returns nil at the end of the stream.
func (f *follower) read(ctx context.Context, previous, follow bool) error {
	options := &corev1.PodLogOptions{Container: f.of.Name, Follow: follow, Previous: previous, Timestamps: true}
	var again []entry
	if !f.last.IsZero() {
		since := metav1.NewTime(f.last.Add(-overlap).Truncate(time.Second)) // whole seconds are sent
		options.SinceTime, again = &since, entriesSince(f.recent, since.Time)
	}
	body, err := f.client.Kube.CoreV1().Pods(f.of.Namespace).GetLogs(f.of.Pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	reader := bufio.NewReader(body)
	for {
		text, err := reader.ReadString('\n')
		// A line without an end is either still being sent, and comes again, or
		// the last one of a log that is read to its end.
		if text != "" && (err == nil || errors.Is(err, io.EOF) && !follow) {
			e, parseErr := parseEntry(text)
			if parseErr != nil {
				return parseErr
			}
			if again, parseErr = f.take(e, again); parseErr != nil {
				return parseErr
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !follow && len(again) > 0:
			return fmt.Errorf("%w: the log of %s was cut or rotated", ErrLogIncomplete, f.of)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// take hands an entry over, unless it is the next of those that come again.
func (f *follower) take(e entry, again []entry) ([]entry, error) {
	if len(again) > 0 {
		if want := again[0]; !e.at.Equal(want.at) || e.line != want.line {
			return nil, fmt.Errorf("%w: the log of %s goes on with %q, not with %q", ErrLogIncomplete, f.of, shorten(e.line), shorten(want.line))
		}
		return again[1:], nil
	}
	f.recent = append(f.recent, e)
	if e.at.After(f.last) {
		f.last = e.at
	}
	// Cut now and then: in whole seconds, twice as far back as a read reaches.
	if old := f.last.Add(-2*overlap - 2*time.Second); f.recent[0].at.Before(old) {
		f.recent = entriesSince(f.recent, f.last.Add(-overlap-2*time.Second))
	}
	f.onLine(e.line)
	return nil, nil
}

// entriesSince leaves out what the kubelet leaves out: it looks at each line's
// own time (cri-client/pkg/logs/logs.go, logWriter.write, v0.36.3).
func entriesSince(entries []entry, since time.Time) []entry {
	var out []entry
	for _, e := range entries {
		if !e.at.Before(since) {
			out = append(out, e)
		}
	}
	return out
}

// parseEntry reads "<time> <line>". What has no time is the kubelet's own
// message about a log that it cannot read.
func parseEntry(text string) (entry, error) {
	text = strings.TrimSuffix(text, "\n")
	stamp, line, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return entry{}, fmt.Errorf("the kubelet says: %s", oneLine(text))
	}
	return entry{at, line}, nil
}

func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
