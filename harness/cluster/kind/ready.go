package kind

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// awaitReady waits until pods can be created, run and find each other by name.
// Ending without that, it says what was missing.
func awaitReady(ctx context.Context, client kubernetes.Interface, n int) error {
	var missing string
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		missing = lacks(ctx, client, n)
		return missing == "", nil
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && missing != "" {
		return fmt.Errorf("%w: %s", err, missing)
	}
	return err
}

// lacks says what is not ready, "" for nothing.
func lacks(ctx context.Context, client kubernetes.Interface, n int) string {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var waiting []string
	for _, node := range list.Items {
		if why := notReady(node); why != "" {
			waiting = append(waiting, why)
		}
	}
	if len(waiting) > 0 || len(list.Items) < n {
		return fmt.Sprintf("%d of %d nodes are ready; %s", len(list.Items)-len(waiting), n, strings.Join(waiting, "; "))
	}
	dns, err := client.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	if dns.Status.AvailableReplicas == 0 {
		return "no pod of coredns is available"
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

func notReady(node corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return ""
		} else if c.Type == corev1.NodeReady {
			return fmt.Sprintf("node %s: %s", node.Name, c.Message)
		}
	}
	return "node " + node.Name + " has not reported"
}
