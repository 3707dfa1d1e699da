package fleet

import "slices"

// Reference is what a Rollout refers to.
type Reference struct {
	Kind, Namespace, Name string
	// MadeUp: where the fleet does not have it, an empty one does as well.
	MadeUp bool
}

func (r Reference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// References are what a Rollout names in its strategy, its steps, its workloadRef and
// its template, as far as the controller or the API server insist on it
// (pkg/apis/rollouts/validation/validation_references.go, v1.9.2; the ServiceAccount
// and Priority admission plugins).
func References(ro Object) []Reference {
	r := &referring{namespace: ro.GetNamespace()}
	for _, strategy := range []string{"canary", "blueGreen"} {
		s := mapping(ro.Object, "spec", "strategy", strategy)
		for _, field := range []string{"canaryService", "stableService", "activeService", "previewService"} {
			r.add("Service", text(s, field))
		}
		r.add("Service", text(s, "pingPong", "pingService"))
		r.add("Service", text(s, "pingPong", "pongService"))
		r.routing(mapping(s, "trafficRouting"))
		for _, field := range []string{"analysis", "prePromotionAnalysis", "postPromotionAnalysis"} {
			r.templates(mapping(s, field))
		}
		for _, step := range list(s, "steps") {
			r.templates(mapping(step, "analysis"))
			for _, analysis := range list(mapping(step, "experiment"), "analyses") {
				r.template(analysis)
			}
		}
	}
	if name := text(ro.Object, "spec", "workloadRef", "name"); name != "" {
		r.add(text(ro.Object, "spec", "workloadRef", "kind"), name)
	}
	r.pod(mapping(ro.Object, "spec", "template", "spec"))
	return r.out
}

type referring struct {
	namespace string
	out       []Reference
}

func (r *referring) put(ref Reference) {
	if ref.Name != "" && !slices.Contains(r.out, ref) {
		r.out = append(r.out, ref)
	}
}

func (r *referring) add(kind, name string) {
	r.put(Reference{Kind: kind, Namespace: r.namespace, Name: name})
}

func (r *referring) routing(routing map[string]any) {
	r.add("VirtualService", text(routing, "istio", "virtualService", "name"))
	for _, vs := range list(mapping(routing, "istio"), "virtualServices") {
		r.add("VirtualService", text(vs, "name"))
	}
	r.add("DestinationRule", text(routing, "istio", "destinationRule", "name"))
	r.add("Ingress", text(routing, "nginx", "stableIngress"))
	for _, name := range names(mapping(routing, "nginx")["stableIngresses"]) {
		r.add("Ingress", name)
	}
	r.add("Ingress", text(routing, "alb", "ingress"))
	r.add("Service", text(routing, "alb", "rootService"))
}

func (r *referring) templates(analysis map[string]any) {
	for _, t := range list(analysis, "templates") {
		r.template(t)
	}
}

func (r *referring) template(t map[string]any) {
	if scope, _ := t["clusterScope"].(bool); scope {
		r.put(Reference{Kind: "ClusterAnalysisTemplate", Name: text(t, "templateName")})
		return
	}
	r.add("AnalysisTemplate", text(t, "templateName"))
}

func (r *referring) pod(spec map[string]any) {
	if name := text(spec, "serviceAccountName"); name != "default" {
		r.put(Reference{Kind: "ServiceAccount", Namespace: r.namespace, Name: name, MadeUp: true})
	}
	r.put(Reference{Kind: "PriorityClass", Name: text(spec, "priorityClassName"), MadeUp: true})
	r.put(Reference{Kind: "RuntimeClass", Name: text(spec, "runtimeClassName"), MadeUp: true})
}

// Routers are the traffic routers that a Rollout names: "istio", "nginx", ...
func Routers(ro Object) []string {
	var out []string
	for router := range mapping(ro.Object, "spec", "strategy", "canary", "trafficRouting") {
		if router != "managedRoutes" && router != "maxTrafficWeight" {
			out = append(out, router)
		}
	}
	slices.Sort(out)
	return out
}

// mapping is the mapping at a path, nil if there is none.
func mapping(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		m, _ = m[field].(map[string]any)
	}
	return m
}

// text is the text at a path, "" if there is none.
func text(m map[string]any, path ...string) string {
	last := len(path) - 1
	s, _ := mapping(m, path[:last]...)[path[last]].(string)
	return s
}

// list are the mappings of a list.
func list(m map[string]any, field string) []map[string]any {
	items, _ := m[field].([]any)
	var out []map[string]any
	for _, item := range items {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}

func names(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if name, ok := item.(string); ok {
			out = append(out, name)
		}
	}
	return out
}
