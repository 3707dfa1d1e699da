package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/traffic"
)

// sender sends requests from a pod of its own and records what the pod says
// became of them.
type sender struct {
	run    *run
	client *incluster.Client
	image  string
	rec    *record.Recorder
	// ctx is that of the run; fail ends it.
	ctx  context.Context
	fail context.CancelCauseFunc

	tap  *traffic.Tap
	pod  string
	done chan struct{} // closed when the pod's record was read to its end
	err  error         // of the reading, to be read after done
	// stopping: the end of the pod is asked for.
	stopping chan struct{}
}

var _ stage.Traffic = (*sender)(nil)

const (
	// sendingTimeout is how long the client may take to its first request.
	sendingTimeout = 90 * time.Second
	// logDelay is how late a line of the client's log may come: a follower that was
	// cut off finds its way back, and what it missed is still there.
	logDelay = 20 * time.Second
	// endTime is what the client gets to end its requests.
	endTime = 10 * time.Second
)

// errBusy: a run has one client at a time.
var errBusy = errors.New("requests are being sent already")

// Start makes the client's pod and waits until it sends.
func (s *sender) Start(ctx context.Context, load stage.Load) error {
	if s.tap != nil {
		return errBusy
	}
	s.pod = "traffic-" + load.Client
	s.tap = traffic.NewTap(traffic.TapConfig{Client: load.Client, Base: s.run.base, Now: s.run.engine.Clock.Now, Delay: logDelay}, s.rec.Observe)
	s.done, s.stopping = make(chan struct{}), make(chan struct{})
	if _, err := s.kube().CoreV1().Pods(s.run.namespace).Create(ctx, s.podOf(load), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the pod that sends requests: %w", err)
	}
	go s.read(load.Client)
	ctx, cancel := context.WithTimeoutCause(ctx, sendingTimeout, fmt.Errorf("no request was sent within %s", sendingTimeout))
	defer cancel()
	select {
	case <-s.tap.Started():
		return nil
	case <-s.done:
		return fmt.Errorf("the client of the traffic ended before its first request: %w", s.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *sender) kube() kubernetes.Interface { return s.client.Kube }

// read records what the client says until its log ends. An end that was not asked
// for is a fault: what it would have measured is missing.
func (s *sender) read(client string) {
	defer close(s.done)
	lines, feed := io.Pipe()
	go func() {
		of := incluster.Container{Namespace: s.run.namespace, Pod: s.pod, Name: client}
		err := s.client.FollowLog(s.ctx, of, func(line string) { _, _ = io.WriteString(feed, line+"\n") })
		feed.CloseWithError(err)
	}()
	err := s.tap.Read(lines)
	lines.CloseWithError(err) // or the log would go on for nobody
	if !s.tap.Ended() {
		s.err = errors.Join(err, s.tap.Close())
	}
	select {
	case <-s.stopping:
	case <-s.ctx.Done():
	default:
		s.fail(&partFault{"traffic", errors.Join(errors.New("the client of the traffic ended by itself"), s.err)})
	}
}

// Stop ends the client and waits until its record is complete.
func (s *sender) Stop(ctx context.Context) error {
	if s.tap == nil {
		return errors.New("no requests are being sent")
	}
	close(s.stopping)
	err := s.kube().CoreV1().Pods(s.run.namespace).Delete(ctx, s.pod, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ending the pod that sends requests: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*endTime, errors.New("the client of the traffic did not end"))
	defer cancel()
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// podOf is the pod that sends the requests.
func (s *sender) podOf(load stage.Load) *corev1.Pod {
	host := fmt.Sprintf("%s.%s.svc.cluster.local:%d", load.Service, s.run.namespace, load.Port)
	args := []string{"load", "--client=" + load.Client, "--transport=" + load.Client, fmt.Sprintf("--rate=%d", load.Rate), "--timeout=" + load.Limit.String()}
	if load.Client == stage.GRPC {
		args = append(args, "--target="+host, "--istiod="+istio.XDSAddress(istio.Namespace))
	} else {
		args = append(args, "--target=http://"+host+"/")
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.run.namespace, Name: s.pod, Labels: map[string]string{stage.HarnessLabel: "traffic"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			TerminationGracePeriodSeconds: new(int64(endTime / time.Second)),
			Containers: []corev1.Container{{
				// Its share of a busy node: what it sends late it cannot measure.
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("400m")}},
				Name:      load.Client, Image: s.image, ImagePullPolicy: corev1.PullNever, Args: args,
				Env: []corev1.EnvVar{
					stage.FromField("POD_NAME", "metadata.name"), stage.FromField("POD_NAMESPACE", "metadata.namespace"), stage.FromField("POD_IP", "status.podIP"),
				},
			}},
		},
	}
}
