package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/stage"
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

	pod *podWitness // nil before Start
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
	if s.pod != nil {
		return errBusy
	}
	var err error
	w := s.run.newWitness(s.ctx, s.fail, load.Client, s.rec.Observe)
	if s.pod, err = startPod(ctx, s.client, s.podOf(load), w); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sendingTimeout, fmt.Errorf("no request was sent within %s", sendingTimeout))
	defer cancel()
	return s.pod.await(ctx, s.pod.tap.Started())
}

// Stop ends the client and waits until its record is complete.
func (s *sender) Stop(ctx context.Context) error {
	if s.pod == nil {
		return errors.New("no requests are being sent")
	}
	return s.pod.end(ctx)
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
	return s.run.clientPod("traffic-"+load.Client, load.Client, s.image, args)
}

// clientPod is a pod of the program of the traffic that is no part of the workload.
func (r *run) clientPod(name, container, image string, args []string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name, Labels: map[string]string{stage.HarnessLabel: "traffic"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			TerminationGracePeriodSeconds: new(int64(endTime / time.Second)),
			Containers: []corev1.Container{{
				// Its share of a busy node: what it does late it cannot measure.
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("400m")}},
				Name:      container, Image: image, ImagePullPolicy: corev1.PullNever, Args: args,
				Env: []corev1.EnvVar{
					stage.FromField("POD_NAME", "metadata.name"), stage.FromField("POD_NAMESPACE", "metadata.namespace"), stage.FromField("POD_IP", "status.podIP"),
				},
			}},
		},
	}
}
