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
		s := Mapping(ro.Object, "spec", "strategy", strategy)
		for _, field := range []string{"canaryService", "stableService", "activeService", "previewService"} {
			r.add("Service", Text(s, field))
		}
		r.add("Service", Text(s, "pingPong", "pingService"))
		r.add("Service", Text(s, "pingPong", "pongService"))
		r.routing(Mapping(s, "trafficRouting"))
		for _, field := range []string{"analysis", "prePromotionAnalysis", "postPromotionAnalysis"} {
			r.templates(Mapping(s, field))
		}
		for _, step := range Items(s, "steps") {
			r.templates(Mapping(step, "analysis"))
			for _, analysis := range Items(Mapping(step, "experiment"), "analyses") {
				r.template(analysis)
			}
		}
	}
	if name := Text(ro.Object, "spec", "workloadRef", "name"); name != "" {
		r.add(Text(ro.Object, "spec", "workloadRef", "kind"), name)
	}
	r.pod(Mapping(ro.Object, "spec", "template", "spec"))
	return r.out
}

// Admission is what the pods of any workload name and a server insists on.
func Admission(o Object) []Reference {
	r := &referring{namespace: o.GetNamespace()}
	r.pod(Mapping(o.Object, "spec", "template", "spec"))
	r.pod(Mapping(o.Object, "template", "spec")) // a PodTemplate's
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
	r.add("VirtualService", Text(routing, "istio", "virtualService", "name"))
	for _, vs := range Items(Mapping(routing, "istio"), "virtualServices") {
		r.add("VirtualService", Text(vs, "name"))
	}
	r.add("DestinationRule", Text(routing, "istio", "destinationRule", "name"))
	r.add("Ingress", Text(routing, "nginx", "stableIngress"))
	for _, name := range names(Mapping(routing, "nginx")["stableIngresses"]) {
		r.add("Ingress", name)
	}
	r.add("Ingress", Text(routing, "alb", "ingress"))
	r.add("Service", Text(routing, "alb", "rootService"))
}

func (r *referring) templates(analysis map[string]any) {
	for _, t := range Items(analysis, "templates") {
		r.template(t)
	}
}

func (r *referring) template(t map[string]any) {
	if scope, _ := t["clusterScope"].(bool); scope {
		r.put(Reference{Kind: "ClusterAnalysisTemplate", Name: Text(t, "templateName")})
		return
	}
	r.add("AnalysisTemplate", Text(t, "templateName"))
}

func (r *referring) pod(spec map[string]any) {
	if name := Text(spec, "serviceAccountName"); name != "default" {
		r.put(Reference{Kind: "ServiceAccount", Namespace: r.namespace, Name: name, MadeUp: true})
	}
	r.put(Reference{Kind: "PriorityClass", Name: Text(spec, "priorityClassName"), MadeUp: true})
	r.put(Reference{Kind: "RuntimeClass", Name: Text(spec, "runtimeClassName"), MadeUp: true})
}

// Routers are the traffic routers that a Rollout names: "istio", "nginx", ...
func Routers(ro Object) []string {
	var out []string
	for router := range Mapping(ro.Object, "spec", "strategy", "canary", "trafficRouting") {
		if router != "managedRoutes" && router != "maxTrafficWeight" {
			out = append(out, router)
		}
	}
	slices.Sort(out)
	return out
}
