package istio

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// baseValues leave out the validating webhook, which belongs to the default
// revision (templates/defaultrevision-validatingwebhookconfiguration.yaml, 1.31).
func baseValues() map[string]any {
	return map[string]any{"defaultRevision": ""}
}

// values are those of the istiod chart: no injector, no webhooks, no telemetry
// and no gateways, since nothing in a drill uses them; a number of replicas that
// nothing but the drill changes; and the PodDisruptionBudget as upstream has it.
func (c Config) values() map[string]any {
	env := map[string]any{
		"INJECT_ENABLED":                                 "false",
		"PILOT_ENABLE_GATEWAY_API":                       "false",
		"PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER": "false",
		"PILOT_ENABLE_GATEWAY_API_STATUS":                "false",
	}
	for name, value := range c.Env {
		env[name] = value
	}
	values := map[string]any{
		"image":              c.Image,
		"autoscaleEnabled":   false,
		"replicaCount":       c.Replicas,
		"resources":          resources(c.Resources),
		"env":                env,
		"extraContainerArgs": anySlice(c.Args),
		"telemetry":          map[string]any{"enabled": false},
		// OFF as a word: the chart writes it into a file of YAML 1.1.
		"meshConfig": map[string]any{"ingressControllerMode": "OFF"},
		"global": map[string]any{
			"imagePullPolicy":              string(c.PullPolicy),
			"configValidation":             false,
			"operatorManageWebhooks":       true,
			"omitSidecarInjectorConfigMap": true,
			"defaultPodDisruptionBudget":   map[string]any{"enabled": true},
		},
	}
	if c.ConnectionAge > 0 {
		values["keepaliveMaxServerConnectionAge"] = c.ConnectionAge.String()
	}
	return merge(values, c.Values)
}

// resources are written as the chart reads them. A machine that runs a whole
// cluster has no half a CPU and 2 GiB to set aside for istiod, as the chart wants.
func resources(r corev1.ResourceRequirements) map[string]any {
	if len(r.Requests) == 0 {
		r.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(10, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("64Mi")}
	}
	out := map[string]any{"requests": quantities(r.Requests)}
	if len(r.Limits) > 0 {
		out["limits"] = quantities(r.Limits)
	}
	return out
}

func quantities(list corev1.ResourceList) map[string]any {
	out := map[string]any{}
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

func anySlice(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// merge returns base with over on top of it: maps are merged, all else replaced.
func merge(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	for _, key := range slices.Sorted(maps.Keys(over)) {
		below, isMap := out[key].(map[string]any)
		above, alsoMap := over[key].(map[string]any)
		if isMap && alsoMap {
			out[key] = merge(below, above)
			continue
		}
		out[key] = over[key]
	}
	return out
}
