package kind

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
)

// poll is how often a starting cluster is looked at.
const poll = 250 * time.Millisecond

// setUpNetwork gives each node its part of the pod network and the routes to all
// other parts: what kind's own CNI does (images/kindnetd), once, since nodes
// neither come nor go.
func setUpNetwork(ctx context.Context, client kubernetes.Interface, all []nodes.Node) error {
	known, err := podRanges(ctx, client, len(all))
	if err != nil {
		return err
	}
	for _, n := range all {
		me, ok := known[n.String()]
		if !ok {
			return fmt.Errorf("node %s is not known to the API server", n)
		}
		conf, err := cniConfig(me.Spec.PodCIDR)
		if err != nil {
			return err
		}
		script := networkScript(n.String(), known)
		cmd := n.CommandContext(ctx, "sh", "-c", script).SetStdin(bytes.NewReader(conf))
		var said bytes.Buffer
		if err := cmd.SetStdout(&said).SetStderr(&said).Run(); err != nil {
			return fmt.Errorf("network of node %s: %w: %s", n, err, lastLines(said.String()))
		}
	}
	return nil
}

// podRanges waits until the controller manager gave every node its range.
func podRanges(ctx context.Context, client kubernetes.Interface, n int) (map[string]corev1.Node, error) {
	known := map[string]corev1.Node{}
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil // the API server may be busy: the context bounds this
		}
		for _, node := range list.Items {
			if node.Spec.PodCIDR != "" && internalIP(node) != "" {
				known[node.Name] = node
			}
		}
		return len(known) >= n, nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return known, err
}

func internalIP(n corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// cniConfig is the plugins' configuration on a node with this range of pods.
func cniConfig(podCIDR string) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"cniVersion": "0.3.1", "name": "reckon", "plugins": []any{
			map[string]any{
				"type": "ptp", "ipMasq": false, "mtu": 1500,
				"ipam": map[string]any{
					"type": "host-local", "dataDir": "/run/cni-ipam-state",
					"routes": []any{map[string]any{"dst": "0.0.0.0/0"}}, "ranges": []any{[]any{map[string]any{"subnet": podCIDR}}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}, "", "  ")
}

// networkScript runs on a node, with the plugins' configuration as its input. The
// file comes last: with it, the node is ready for pods.
func networkScript(me string, known map[string]corev1.Node) string {
	var b strings.Builder
	b.WriteString("set -e\n")
	for name, node := range known {
		if name != me {
			fmt.Fprintf(&b, "ip route replace %s via %s\n", node.Spec.PodCIDR, internalIP(node))
		}
	}
	// Pods reach the world as their node, and each other as themselves.
	fmt.Fprintf(&b, "iptables -w -t nat -A POSTROUTING -s %[1]s ! -d %[1]s -j MASQUERADE\n", podSubnet)
	b.WriteString("mkdir -p /etc/cni/net.d\ncat > /etc/cni/net.d/.next\nmv /etc/cni/net.d/.next /etc/cni/net.d/10-reckon.conflist\n")
	return b.String()
}
