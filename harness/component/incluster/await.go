package incluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrHopeless: waiting longer would not help.
var ErrHopeless = errors.New("it cannot become ready")

// hopeless are the reasons of waiting containers that do not go away by
// themselves (kubelet/images/types.go, kubelet/container/sync_result.go, v1.37.2).
var hopeless = []string{"ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"}

// AwaitDeployment waits until all pods of a Deployment are of its latest
// template and available, and none of an earlier one is left, and returns the
// pods by name. Ending without that, the error says what was wrong with them.
func (c *Client) AwaitDeployment(ctx context.Context, namespace, name string) ([]corev1.Pod, error) {
	for {
		v, err := c.look(ctx, namespace, name)
		if err == nil && rolledOut(v.deployment) && len(v.latest) == int(v.deployment.Status.Replicas) && !slices.ContainsFunc(v.latest, notReady) {
			return v.latest, nil
		}
		if err == nil && slices.ContainsFunc(v.latest, isHopeless) {
			return nil, c.explain(ctx, ErrHopeless, namespace, name)
		}
		if err := sleep(ctx, poll); err != nil {
			return nil, c.explain(ctx, err, namespace, name)
		}
	}
}

// RolledOut says whether all pods of a Deployment are of its latest template and
// available, and as many as it wants, by its status.
func (c *Client) RolledOut(ctx context.Context, namespace, name string) (bool, error) {
	d, err := c.Kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	return err == nil && rolledOut(d), err
}

// NodeOf is the node of a pod, once it has one.
func (c *Client) NodeOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	for {
		p, err := c.Kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && p.Spec.NodeName != "" {
			return p.Spec.NodeName, nil
		}
		if cause := sleep(ctx, poll); cause != nil {
			return "", fmt.Errorf("the node of pod %s: %w", pod.Name, errors.Join(cause, err))
		}
	}
}

// AwaitNoPods waits until no pod has the labels.
func (c *Client) AwaitNoPods(ctx context.Context, namespace, selector string) error {
	for {
		list, err := c.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err == nil && len(list.Items) == 0 {
			return nil
		}
		if cause := sleep(ctx, poll); cause != nil {
			if err != nil {
				return fmt.Errorf("%w: %w", cause, err)
			}
			return fmt.Errorf("%w: %d pods of %s are still in namespace %s", cause, len(list.Items), selector, namespace)
		}
	}
}

// view is a Deployment and those of its pods that are of its latest template, by
// name, without those on their way out.
type view struct {
	deployment *appsv1.Deployment
	latest     []corev1.Pod
}

// revision is the annotation of a Deployment and of its ReplicaSets by which the
// latest one is known.
const revision = "deployment.kubernetes.io/revision"

func (c *Client) look(ctx context.Context, namespace, name string) (view, error) {
	d, err := c.Kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return view{}, err
	}
	of := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}
	sets, err := c.Kube.AppsV1().ReplicaSets(namespace).List(ctx, of)
	if err != nil {
		return view{}, err
	}
	pods, err := c.Kube.CoreV1().Pods(namespace).List(ctx, of)
	if err != nil {
		return view{}, err
	}
	return view{d, latestOf(d, sets.Items, pods.Items)}, nil
}

// latestOf finds the pods of a Deployment's latest template. A Deployment that
// was made again has pods of its predecessor about it for a while, and one whose
// change was not seen yet has no latest ones.
func latestOf(d *appsv1.Deployment, sets []appsv1.ReplicaSet, pods []corev1.Pod) []corev1.Pod {
	i := slices.IndexFunc(sets, func(s appsv1.ReplicaSet) bool {
		return metav1.IsControlledBy(&s, d) && s.Annotations[revision] == d.Annotations[revision]
	})
	if i < 0 || d.Status.ObservedGeneration < d.Generation {
		return nil
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return !metav1.IsControlledBy(&p, &sets[i]) || p.DeletionTimestamp != nil
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func rolledOut(d *appsv1.Deployment) bool {
	s, want := d.Status, int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
}

func notReady(pod corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func isHopeless(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(hopeless, s.State.Waiting.Reason)
	})
}

// explainTime is how long finding out why may take.
const explainTime = 5 * time.Second

// explain adds to an error what is wrong with a Deployment. The context may
// have ended.
func (c *Client) explain(ctx context.Context, err error, namespace, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	v, lookErr := c.look(ctx, namespace, name)
	if lookErr != nil {
		return fmt.Errorf("%w: deployment %s/%s: %w", err, namespace, name, lookErr)
	}
	status := v.deployment.Status
	said := []string{fmt.Sprintf("%d of %d pods are available", status.AvailableReplicas, status.Replicas)}
	for _, cond := range status.Conditions {
		failed := cond.Type == appsv1.DeploymentReplicaFailure && cond.Status == corev1.ConditionTrue
		if failed || cond.Type == appsv1.DeploymentProgressing && cond.Status == corev1.ConditionFalse {
			said = append(said, cond.Message)
		}
	}
	if i := slices.IndexFunc(v.latest, notReady); i >= 0 { // others have the same template
		said = append(said, c.whyNotReady(ctx, &v.latest[i]))
	}
	return fmt.Errorf("%w: deployment %s/%s: %s", err, namespace, name, strings.Join(said, "; "))
}

// whyNotReady says what a pod's status, warnings and log say, in one line.
func (c *Client) whyNotReady(ctx context.Context, pod *corev1.Pod) string {
	said := []string{"pod " + pod.Name + " is " + string(pod.Status.Phase)}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			said = append(said, cond.Message)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		said = append(said, containerState(s))
		at := Container{pod.Namespace, pod.Name, s.Name}
		if tail := c.lastLines(ctx, at, s.State.Running == nil && s.LastTerminationState.Terminated != nil); tail != "" {
			said = append(said, "its log ends: "+tail)
		}
	}
	warning := c.lastWarning(ctx, pod)
	if _, message, ok := strings.Cut(warning, ": "); ok && !strings.Contains(strings.Join(said, " "), message) {
		said = append(said, "last warning: "+warning)
	}
	return strings.Join(said, ", ")
}

// containerState is a container's state in words.
func containerState(s *corev1.ContainerStatus) string {
	out := "container " + s.Name
	switch {
	case s.State.Waiting != nil:
		out += " waits: " + s.State.Waiting.Reason
		if m := oneLine(s.State.Waiting.Message); m != "" {
			out += " (" + m + ")"
		}
	case s.State.Terminated != nil:
		out += " " + ending(s.State.Terminated)
	case s.State.Running != nil && !s.Ready:
		out += " runs and is not ready"
	default:
		out += " runs"
	}
	if s.RestartCount > 0 {
		out += fmt.Sprintf(", restarted %d times", s.RestartCount)
		if last := s.LastTerminationState.Terminated; last != nil {
			out += " (last: " + ending(last) + ")"
		}
	}
	return out
}

// ending says how a container ended.
func ending(t *corev1.ContainerStateTerminated) string {
	how := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Signal != 0 {
		how = fmt.Sprintf("was ended by signal %d", t.Signal)
	}
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		how += " (" + t.Reason + ")"
	}
	return how
}

const (
	// tailLines is how much of a log's end goes into an error.
	tailLines = 3
	// readLines is how much is looked through for the line that says what went wrong: a
	// program that prints its usage says it before that, or after, as its standard
	// output and its standard error happen to be joined.
	readLines = 120
)

// wrong begins a line that says what went wrong.
var wrong = regexp.MustCompile(`(?i)^(error|fatal|panic)\b|\blevel="?(error|fatal)`)

// telling are the last lines of a log, in one, and before them the last line that
// says what went wrong if it is not among them.
func telling(log string) string {
	lines := strings.FieldsFunc(log, func(r rune) bool { return r == '\n' || r == '\r' })
	end := lines[max(0, len(lines)-tailLines):]
	for _, line := range slices.Backward(lines) {
		if !wrong.MatchString(line) {
			continue
		}
		if !slices.Contains(end, line) {
			end = append([]string{line, "…"}, end...)
		}
		break
	}
	return oneLine(strings.Join(end, "\n"))
}

// lastLines are the telling lines of a container's log, or of the run before if it
// has none, "" if there are none.
func (c *Client) lastLines(ctx context.Context, of Container, previous bool) string {
	tail := int64(readLines)
	for _, previous := range []bool{previous, !previous} {
		raw, err := c.Kube.CoreV1().Pods(of.Namespace).GetLogs(of.Pod, &corev1.PodLogOptions{
			Container: of.Name, TailLines: &tail, Previous: previous,
		}).DoRaw(ctx)
		if text := telling(string(raw)); err == nil && text != "" && !strings.HasPrefix(text, noLog) {
			return text
		}
	}
	return ""
}

// noLog is what the kubelet answers, as if it were the log, of a container that
// it has removed already.
const noLog = "unable to retrieve container logs for"

// lastWarning is the message of the last warning about a pod.
func (c *Client) lastWarning(ctx context.Context, pod *corev1.Pod) string {
	list, err := c.Kube.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.uid=" + string(pod.UID) + ",type=" + corev1.EventTypeWarning,
	})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	last := slices.MaxFunc(list.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return last.Reason + ": " + oneLine(last.Message)
}

// maxLine bounds what others say within an error of ours.
const maxLine = 600

// oneLine joins lines, and keeps the end if they are long.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	s = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), " | ")
	if len(s) > maxLine {
		s = "…" + strings.ToValidUTF8(s[len(s)-maxLine:], "")
	}
	return s
}
