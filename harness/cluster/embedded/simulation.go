package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	manifests "reckon.dev/reckon/manifests/kwok"
)

// nodeNetwork is where simulated nodes have their addresses: the network for
// benchmarks (RFC 2544), in which nothing answers.
const (
	nodeNetworkFirst  = 198
	nodeNetworkSecond = 18
	MaxNodes          = 10000
)

// kwokConfig joins kwok's configuration and our stages to one file.
func kwokConfig() ([]byte, error) {
	files, err := fs.Glob(manifests.Files, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, file := range append([]string{"config.yaml"}, files...) {
		data, err := manifests.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s\n", data)
	}
	return out.Bytes(), nil
}

// node is the i-th simulated node.
func node(i int) (*corev1.Node, error) {
	data, err := manifests.Files.ReadFile("node.yaml")
	if err != nil {
		return nil, err
	}
	n := &corev1.Node{}
	if err := utilyaml.UnmarshalStrict(data, n); err != nil {
		return nil, fmt.Errorf("manifests/kwok/node.yaml: %w", err)
	}
	n.Name = fmt.Sprintf("%s-%d", n.Name, i)
	n.Labels[corev1.LabelHostname] = n.Name
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: net.IPv4(nodeNetworkFirst, nodeNetworkSecond, byte(i>>8), byte(i)).String()},
		{Type: corev1.NodeHostName, Address: n.Name},
	}
	return n, nil
}

// prepareSimulation makes the nodes, and everything that kwok would otherwise
// wait a second for (pkg/kwok/cmd/root.go, waitForReady, and
// node_lease_controller.go, sync, of kwok v0.8.0): its rights in force, and the
// namespace of node leases.
func (c *Cluster) prepareSimulation(ctx context.Context) error {
	leases := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}}
	_, err := c.probe.client.CoreV1().Namespaces().Create(ctx, leases, metav1.CreateOptions{})
	if err := ignoreExists(err); err != nil {
		return err
	}
	if err := c.grantKwok(ctx); err != nil {
		return err
	}
	for i := range c.cfg.Nodes {
		n, err := node(i)
		if err != nil {
			return err
		}
		if _, err := c.probe.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return c.probe.poll(ctx, c.kwokMayWork)
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// grantKwok creates the role and the binding of manifests/kwok/rbac.yaml.
func (c *Cluster) grantKwok(ctx context.Context) error {
	role, binding, err := kwokRights()
	if err != nil {
		return err
	}
	rbac := c.probe.client.RbacV1()
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func kwokRights() (*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, error) {
	data, err := manifests.Files.ReadFile("rbac.yaml")
	if err != nil {
		return nil, nil, err
	}
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for _, into := range []any{role, binding} {
		doc, err := reader.Read()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if err := utilyaml.UnmarshalStrict(doc, into); err != nil {
			return nil, nil, fmt.Errorf("manifests/kwok/rbac.yaml: %w", err)
		}
	}
	return role, binding, nil
}

// kwokMayWork asks whether the authorizer has seen the binding already.
func (c *Cluster) kwokMayWork(ctx context.Context) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               kwokUser,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes"},
	}}
	answer, err := c.probe.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
