package istiodcost

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/stage"
)

// proxiesNamespace is the one that the fleet's proxies say they are in
// (xdsfleet.Config.Namespace).
const proxiesNamespace = "mesh"

// rootNamespace of the mesh: what is configured there is for all proxies.
const rootNamespace = "istio-system"

// writers is how many objects are written at a time.
const writers = 16

// namespaceOf is the namespace of a service: they take turns, the proxies' own first.
func (p *Params) namespaceOf(service int) string {
	if n := service % p.Namespaces; n > 0 {
		return fmt.Sprintf("%s-%d", proxiesNamespace, n)
	}
	return proxiesNamespace
}

// writeMesh writes namespaces, services with their endpoints, and what proxies are
// told of, before there is an istiod.
func (p *Params) writeMesh(ctx context.Context, st *stage.Stage) error {
	for i := range p.Namespaces {
		if err := st.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceOf(i)}}); err != nil {
			return err
		}
	}
	if p.Scope == Namespace {
		if err := st.Client.Create(ctx, ownNamespaceOnly()); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range p.services() {
		group.Go(func() error {
			for _, o := range []client.Object{p.service(i), p.slice(i)} {
				if err := st.Client.Create(ctx, o); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func serviceName(i int) string { return fmt.Sprintf("service-%d", i) }

// port of each service. Its name makes it one of HTTP, so that all services share one
// listener, as most of a mesh's do.
const (
	portName = "http"
	port     = 8080
)

// service has no selector: nobody but the script writes its endpoints.
func (p *Params) service(i int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName(i), Namespace: p.namespaceOf(i)},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: portName, Port: port, TargetPort: intstr.FromInt32(port)}}},
	}
}

// slice has the endpoints of a service, without pods behind them.
func (p *Params) slice(i int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: serviceName(i), Namespace: p.namespaceOf(i), Labels: map[string]string{
			discoveryv1.LabelServiceName: serviceName(i), discoveryv1.LabelManagedBy: "reckon",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(portName), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for j := range p.endpointsOf(i) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address(i*p.PerService + j)}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	return s
}

// address of an endpoint: each has its own, and none is a proxy's (10.128.0.0/9).
func address(endpoint int) string {
	return netip.AddrFrom4([4]byte{10, 64, byte(endpoint >> 8), byte(endpoint)}).String()
}

// ownNamespaceOnly lets proxies see the services of their own namespace alone.
func ownNamespaceOnly() *unstructured.Unstructured {
	return istioObject("v1", "Sidecar", proxiesNamespace, map[string]any{
		"egress": []any{map[string]any{"hosts": []any{"./*"}}},
	})
}

// pushOfAll is a change that has every sidecar sent all of its clusters, endpoints,
// listeners and routes: none of their generators skips filters, and none knows what of
// it a filter of the root namespace may change (pilot/pkg/xds/cds.go:34, eds.go:103,
// lds.go:35 and rds.go:32, istio 1.31). It is for gateways, so that what is sent is what
// they have.
func pushOfAll() *unstructured.Unstructured {
	return istioObject("v1alpha3", "EnvoyFilter", rootNamespace, map[string]any{
		"configPatches": []any{map[string]any{
			"applyTo": "CLUSTER", "match": map[string]any{"context": "GATEWAY"},
			"patch": map[string]any{"operation": "MERGE", "value": map[string]any{}},
		}},
	})
}

func istioObject(version, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: version, Kind: kind})
	o.SetNamespace(namespace)
	o.SetName("reckon")
	return o
}
