package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
)

// witness is a program of ours that writes down what it sees, and the reading of
// that into the recording. An end that was not asked for is a fault: what it would
// have seen is missing.
type witness struct {
	// part is the witness in faults, who in sentences.
	part, who string
	tap       *traffic.Tap
	// why says what is known of its end beside its record; nil: nothing.
	why func() error
	// ctx is that of the run; fail ends it.
	ctx  context.Context
	fail context.CancelCauseFunc

	stopping chan struct{} // closed when the end is asked for
	done     chan struct{} // closed when the record was read to its end
	err      error         // of the reading, to be read after done
}

// newWitness makes a witness whose record names the client. It is not read yet.
func (r *run) newWitness(ctx context.Context, fail context.CancelCauseFunc, client string, emit func(recording.Fact)) *witness {
	tap := traffic.NewTap(traffic.TapConfig{Client: client, Base: r.base, Now: r.engine.Clock.Now, Delay: logDelay}, emit)
	return &witness{
		part: "traffic", who: "the client of the traffic", tap: tap, ctx: ctx, fail: fail,
		stopping: make(chan struct{}), done: make(chan struct{}),
	}
}

// read records what the witness says until there is no more.
func (w *witness) read(lines io.ReadCloser) {
	defer close(w.done)
	err := w.tap.Read(lines)
	_ = lines.Close() // or it would go on for nobody
	if !w.tap.Ended() {
		w.err = errors.Join(err, w.tap.Close())
		if w.why != nil {
			w.err = errors.Join(w.why(), w.err)
		}
	}
	select {
	case <-w.stopping:
	case <-w.ctx.Done():
	default:
		w.fail(&partFault{w.part, errors.Join(errors.New(w.who+" ended by itself"), w.err)})
	}
}

// await waits for something that the witness sees.
func (w *witness) await(ctx context.Context, seen <-chan struct{}) error {
	select {
	case <-seen:
		return nil
	case <-w.done:
		return fmt.Errorf("%s ended too early: %w", w.who, w.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ended waits until the record is complete, once the witness was told to end.
func (w *witness) ended(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*endTime, fmt.Errorf("%s did not end", w.who))
	defer cancel()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// podWitness is a witness in a pod of the run's namespace, whose log has its record.
type podWitness struct {
	*witness
	client *incluster.Client
	pod    *corev1.Pod
}

// startPod makes the pod, which has one container, and begins to read.
func startPod(ctx context.Context, client *incluster.Client, pod *corev1.Pod, w *witness) (*podWitness, error) {
	p := &podWitness{witness: w, client: client, pod: pod}
	if _, err := client.Kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making the pod of %s: %w", w.who, err)
	}
	go w.read(p.log())
	return p, nil
}

func (p *podWitness) log() io.ReadCloser {
	lines, feed := io.Pipe()
	of := incluster.Container{Namespace: p.pod.Namespace, Pod: p.pod.Name, Name: p.pod.Spec.Containers[0].Name}
	go func() {
		err := p.client.FollowLog(p.ctx, of, func(line string) { _, _ = io.WriteString(feed, line+"\n") })
		feed.CloseWithError(err)
	}()
	return lines
}

// end ends the witness and waits until its record is complete.
func (p *podWitness) end(ctx context.Context) error {
	close(p.stopping)
	err := p.client.Kube.CoreV1().Pods(p.pod.Namespace).Delete(ctx, p.pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ending the pod of %s: %w", p.who, err)
	}
	return p.ended(ctx)
}
