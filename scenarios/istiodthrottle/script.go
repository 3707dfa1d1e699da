package istiodthrottle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/decoder"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
	"reckon.dev/reckon/scenarios/controlplane"
)

// rest is how long the last push is waited for.
const rest = 2 * time.Second

// Script starts one istiod with a limit, connects the proxies at once, lets them be,
// and then changes a ServiceEntry again and again.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	cp := st.ControlPlane
	for _, step := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{controlplane.StepDeploy, func(ctx context.Context) error { return cp.Deploy(ctx, p.istiod()) }},
		{StepServices, func(ctx context.Context) error { return p.write(ctx, st) }},
		{controlplane.StepConnect, func(ctx context.Context) error {
			return cp.Connect(ctx, stage.Fleet{Proxies: p.Connections, Together: true})
		}},
		{StepQuiet, func(ctx context.Context) error { return st.Pass(ctx, p.Quiet.Std()) }},
		{StepPush, func(ctx context.Context) error { return p.push(ctx, st) }},
		{StepRest, func(ctx context.Context) error { return st.Pass(ctx, rest) }},
	} {
		if err := st.Step(ctx, step.name, step.do); err != nil {
			return err
		}
	}
	return cp.Disconnect(ctx)
}

// write creates the ServiceEntries.
func (p *Params) write(ctx context.Context, st *stage.Stage) error {
	for i := range p.Services {
		service, err := newService(st.Namespace, i)
		if err != nil {
			return err
		}
		if err := st.Client.Create(ctx, service); err != nil {
			return fmt.Errorf("creating ServiceEntry %s: %w", service.GetName(), err)
		}
	}
	return nil
}

// changes is how many there are.
func (p *Params) changes() int { return int(p.Push.Std() / p.Every.Std()) }

// push changes the first ServiceEntry at whole intervals since its begin, whatever a
// change takes.
func (p *Params) push(ctx context.Context, st *stage.Stage) error {
	service, err := newService(st.Namespace, 0)
	if err != nil {
		return err
	}
	begin := st.Clock.Now()
	until := func(d time.Duration) error { return st.Pass(ctx, d-st.Clock.Since(begin)) }
	for i := range p.changes() {
		if err := until(time.Duration(i) * p.Every.Std()); err != nil {
			return err
		}
		if err := change(ctx, st.Client, service, i); err != nil {
			return err
		}
	}
	return until(p.Push.Std())
}

// change gives a ServiceEntry another port: a change of clusters, endpoints and
// listeners of all proxies.
func change(ctx context.Context, c client.Client, service *unstructured.Unstructured, i int) error {
	const first = 9001
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"ports": []any{
		map[string]any{"number": first + i%2, "name": "tcp", "protocol": "TCP"},
	}}})
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, service.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("changing ServiceEntry %s: %w", service.GetName(), err)
	}
	return nil
}

// newService is a ServiceEntry with an address of its own, of those that Istio gives
// to services without any.
func newService(namespace string, i int) (*unstructured.Unstructured, error) {
	file, err := manifests.Files.Open("istiod/service.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := &unstructured.Unstructured{}
	if err := decoder.Decode(file, out, decoder.MutateNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the manifest of a ServiceEntry: %w", err)
	}
	out.SetName(fmt.Sprintf("service-%d", i))
	for field, value := range map[string]string{
		"hosts":     fmt.Sprintf("service-%d.drill.test", i),
		"addresses": fmt.Sprintf("240.240.%d.%d", i/250, i%250+1),
	} {
		if err := unstructured.SetNestedStringSlice(out.Object, []string{value}, "spec", field); err != nil {
			return nil, err
		}
	}
	return out, nil
}
