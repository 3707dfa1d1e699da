// Package incluster puts programs into a cluster as pods, and follows what
// becomes of them: it applies manifests, waits for Deployments, reads logs
// without losing a line, watches pods, and reaches their ports.
package incluster

import (
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager owns what Reckon applies.
const FieldManager = "reckon"

// Client is what the package needs of a cluster. It is safe for use by several
// goroutines.
type Client struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface

	http   *http.Client
	mapper meta.RESTMapper
}

// New makes a client of a copy of the configuration. Rate limits are off:
// setting up must not be slower than the cluster. So are the API server's
// warnings, which client-go would print.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfigAndClient(config, hc)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfigAndClient(config, hc)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery()))
	return &Client{Kube: kube, Dynamic: dyn, http: hc, mapper: mapper}, nil
}

// Endpoint is a page of a pod, through the API server: the network of the pods
// need not be reachable from here.
type Endpoint struct {
	URL string
	// HTTP has the rights of the cluster's configuration.
	HTTP *http.Client
}

// Endpoint is a path on an HTTP port of a pod.
func (c *Client) Endpoint(namespace, pod string, port int, path string) Endpoint {
	url := c.Kube.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").
		Name(pod + ":" + strconv.Itoa(port)).SubResource("proxy").Suffix(path).URL()
	return Endpoint{URL: url.String(), HTTP: c.http}
}

// NodeEndpoint is a path of a node's kubelet.
func (c *Client) NodeEndpoint(node, path string) Endpoint {
	url := c.Kube.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix(path).URL()
	return Endpoint{URL: url.String(), HTTP: c.http}
}

// Container is one container of a pod.
type Container struct{ Namespace, Pod, Name string }

func (c Container) String() string { return "container " + c.Name + " of pod " + c.Pod }

// statusOf is the status of a container, an init container included, nil if the
// kubelet has not reported it.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
