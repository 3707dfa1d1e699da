package upgradenoop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reckon.dev/reckon/harness/fleet"
)

// otherNamespace has the other half of a generated fleet.
const otherNamespace = "drill-other"

type (
	object = map[string]any
	items  = []any
)

// generated is the fleet of which every Rollout has something that an upgrade may
// stumble over, or is the same without it.
func generated() (*fleet.Fleet, error) {
	g := &generator{}
	g.canaries()
	g.blueGreens()
	g.antiAffinities()
	g.analyses()
	g.references()
	g.strangers()
	return fleet.Of(g.out, ownNamespace)
}

type generator struct {
	out []*unstructured.Unstructured
	n   int
}

// replicas of each generated Rollout: enough for weights to differ in pods.
const replicas = 4

// steps stop at a half, after a smaller weight: an update that begins again is seen.
func steps(more ...any) items {
	out := items{weight(25), object{"pause": object{"duration": int64(1)}}, weight(50), object{"pause": object{}}}
	return append(out, more...)
}

func weight(w int) object { return object{"setWeight": int64(w)} }

func canary(s items) object {
	out := object{"maxSurge": "50%", "maxUnavailable": int64(0)}
	if s != nil {
		out["steps"] = s
	}
	return object{"canary": out}
}

// with puts fields into the one strategy of a mapping.
func with(strategy object, fields object) object {
	for _, s := range strategy {
		for name, value := range fields {
			s.(object)[name] = value
		}
	}
	return strategy
}

// rollout adds a Rollout; every second goes into the other namespace. What it refers
// to must be added under the namespace that is returned.
func (g *generator) rollout(name, fate string, strategy object, change ...func(spec object)) string {
	namespace := []string{ownNamespace, otherNamespace}[g.n%2]
	g.n++
	spec := object{
		"replicas": int64(replicas), "revisionHistoryLimit": int64(5), "progressDeadlineSeconds": int64(600),
		"selector": object{"matchLabels": object{"app": name}},
		"template": object{"metadata": object{"labels": object{"app": name}}, "spec": few()},
		"strategy": strategy,
	}
	for _, c := range change {
		c(spec)
	}
	g.add("argoproj.io/v1alpha1", "Rollout", namespace, name, object{"spec": spec}, fate)
	return namespace
}

func (g *generator) add(version, kind, namespace, name string, content object, fate string) {
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	if fate != "" {
		o.SetAnnotations(map[string]string{fateAnnotation: fate})
	}
	g.out = append(g.out, o)
}

// service adds a Service for an app.
func (g *generator) service(namespace, name, app string) {
	g.add("v1", "Service", namespace, name, object{"spec": object{
		"selector": object{"app": app}, "ports": items{object{"name": "http", "port": int64(80), "targetPort": "http"}},
	}}, "")
}

// few is a template's spec with next to nothing in it.
func few() object {
	return object{"containers": items{object{"name": "app", "image": "registry.example.com/shop/app:1.0.0"}}}
}

// many puts fields into a template that servers default, convert or sort.
func many(spec object) {
	template := spec["template"].(object)
	template["metadata"].(object)["annotations"] = object{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}
	template["spec"] = object{
		"serviceAccountName": "shop", "priorityClassName": "shop-critical", "terminationGracePeriodSeconds": int64(45),
		"securityContext": object{"runAsNonRoot": true, "fsGroup": int64(2000), "seccompProfile": object{"type": "RuntimeDefault"}},
		"affinity": object{"nodeAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": items{object{
			"weight": int64(10), "preference": object{"matchExpressions": items{object{"key": "node.example.com/pool", "operator": "In", "values": items{"general"}}}},
		}}}},
		"tolerations":               items{object{"key": "dedicated", "operator": "Equal", "value": "shop", "effect": "NoSchedule"}},
		"topologySpreadConstraints": items{object{"maxSkew": int64(1), "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": object{"matchLabels": object{"tier": "web"}}}},
		"initContainers":            items{object{"name": "migrate", "image": "registry.example.com/shop/migrate:1.0.0", "args": items{"up"}}},
		"containers": items{object{
			"name": "app", "image": "registry.example.com/shop/app:1.0.0",
			"ports":          items{object{"name": "http", "containerPort": int64(8080)}, object{"name": "metrics", "containerPort": int64(9090), "protocol": "TCP"}},
			"env":            items{object{"name": "POD_IP", "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}}, object{"name": "MODE", "value": "production"}},
			"envFrom":        items{object{"configMapRef": object{"name": "shop", "optional": true}}},
			"resources":      object{"requests": object{"cpu": "0.1", "memory": "128Mi"}, "limits": object{"memory": "0.25Gi"}},
			"readinessProbe": object{"httpGet": object{"path": "/ready", "port": "http"}},
			"livenessProbe":  object{"tcpSocket": object{"port": int64(8080)}, "initialDelaySeconds": int64(10)},
			"lifecycle":      object{"preStop": object{"exec": object{"command": items{"sleep", "5"}}}},
			"volumeMounts":   items{object{"name": "cache", "mountPath": "/cache"}, object{"name": "config", "mountPath": "/etc/shop", "readOnly": true}},
		}},
		"volumes": items{
			object{"name": "cache", "emptyDir": object{"sizeLimit": "1Gi"}},
			object{"name": "config", "configMap": object{"name": "shop", "optional": true}},
			object{"name": "token", "projected": object{"sources": items{object{"serviceAccountToken": object{"path": "token", "audience": "shop"}}}}},
		},
	}
}

func (g *generator) canaries() {
	g.rollout("canary", fatePromoted, canary(nil))
	g.rollout("canary-many-fields", fatePromoted, canary(steps()), many)
	g.rollout("canary-paused", fatePaused, canary(steps()))
	g.rollout("canary-paused-many-fields", fatePaused, canary(steps()), many)
	g.rollout("canary-first", fateFirst, canary(steps()))
	metadata := object{
		"canaryMetadata": object{"labels": object{"role": "canary"}, "annotations": object{"example.com/role": "canary"}},
		"stableMetadata": object{"labels": object{"role": "stable"}},
	}
	g.rollout("canary-metadata", fatePromoted, with(canary(steps()), metadata))
	g.rollout("canary-metadata-paused", fatePaused, with(canary(steps()), metadata))
	g.istio("istio", fatePromoted)
	g.istio("istio-paused", fatePaused)
}

// istio adds a canary with routes that the controller makes.
func (g *generator) istio(name, fate string) {
	header := object{"setHeaderRoute": object{"name": "tester", "match": items{object{"headerName": "x-tester", "headerValue": object{"exact": "yes"}}}}}
	strategy := with(canary(append(items{weight(25), header}, steps()...)), object{
		"canaryService": name + "-canary", "stableService": name + "-stable", "scaleDownDelaySeconds": int64(1),
		"trafficRouting": object{"managedRoutes": items{object{"name": "tester"}}, "istio": object{"virtualService": object{"name": name, "routes": items{"primary"}}}},
	})
	namespace := g.rollout(name, fate, strategy)
	g.service(namespace, name+"-canary", name)
	g.service(namespace, name+"-stable", name)
	route := func(host string, weight int) object {
		return object{"destination": object{"host": host}, "weight": int64(weight)}
	}
	g.add("networking.istio.io/v1alpha3", "VirtualService", namespace, name, object{"spec": object{
		"hosts": items{name + ".example.com"}, "http": items{object{"name": "primary", "route": items{route(name+"-stable", 100), route(name+"-canary", 0)}}},
	}}, "")
}

func (g *generator) blueGreens() {
	g.blueGreen("bluegreen", fatePromoted, object{}, few())
	g.blueGreen("bluegreen-preview", fatePaused, object{"autoPromotionEnabled": false, "previewReplicaCount": int64(1)}, few())
	g.blueGreen("bluegreen-anti-affinity", fatePromoted, object{"antiAffinity": antiAffinityOf("preferred")}, few())
}

func (g *generator) blueGreen(name, fate string, fields, template object) {
	strategy := with(object{"blueGreen": object{"activeService": name + "-active", "previewService": name + "-preview", "scaleDownDelaySeconds": int64(1)}}, fields)
	namespace := g.rollout(name, fate, strategy, func(spec object) { spec["template"].(object)["spec"] = template })
	g.service(namespace, name+"-active", name)
	g.service(namespace, name+"-preview", name)
}

func antiAffinityOf(kind string) object {
	if kind == "preferred" {
		return object{"preferredDuringSchedulingIgnoredDuringExecution": object{"weight": int64(50)}}
	}
	return object{"requiredDuringSchedulingIgnoredDuringExecution": object{}}
}

func (g *generator) antiAffinities() {
	rule := func(kind string, s items) object {
		return with(canary(s), object{"antiAffinity": antiAffinityOf(kind)})
	}
	g.rollout("required", fatePromoted, rule("required", nil))
	g.rollout("required-paused", fatePaused, rule("required", steps()))
	g.rollout("preferred", fatePromoted, rule("preferred", nil))
	g.rollout("preferred-steps", fatePromoted, rule("preferred", steps()))
	g.rollout("preferred-paused", fatePaused, rule("preferred", steps()))
	g.rollout("preferred-first", fateFirst, rule("preferred", nil))
	g.rollout("preferred-beside-own", fatePromoted, rule("preferred", nil), func(spec object) {
		spec["template"].(object)["spec"].(object)["affinity"] = object{"podAntiAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": items{object{
			"weight": int64(1), "podAffinityTerm": object{"topologyKey": "kubernetes.io/hostname", "labelSelector": object{"matchLabels": object{"app": "preferred-beside-own"}}},
		}}}}
	})
}

// analyses have an analysis step after their pause, which is thus never run.
func (g *generator) analyses() {
	inline := func() object {
		return canary(steps(object{"analysis": object{"templates": items{object{"templateName": "never"}}}}))
	}
	for _, m := range []struct{ name, fate string }{
		{"analysis", fatePromoted + "," + fateReapplied}, {"analysis-paused", fatePaused}, {"analysis-reapplied", fatePaused + "," + fateReapplied},
	} {
		g.rollout(m.name, m.fate, inline())
	}
	for _, namespace := range []string{ownNamespace, otherNamespace} {
		g.add("argoproj.io/v1alpha1", "AnalysisTemplate", namespace, "never", object{"spec": object{"metrics": items{object{
			"name": "never", "provider": object{"web": object{"url": "http://127.0.0.1:1/", "jsonPath": "{$.ok}"}}, "successCondition": "result",
		}}}}, "")
	}
}

// references have their template in a Deployment.
func (g *generator) references() {
	for _, m := range []struct{ name, fate string }{{"reference", fatePromoted}, {"reference-paused", fatePaused}} {
		var template any
		namespace := g.rollout(m.name, m.fate, canary(steps()), many, func(spec object) {
			template = spec["template"]
			delete(spec, "template")
			spec["workloadRef"] = object{"apiVersion": "apps/v1", "kind": "Deployment", "name": m.name}
		})
		g.add("apps/v1", "Deployment", namespace, m.name, object{"spec": object{
			"replicas": int64(0), "selector": object{"matchLabels": object{"app": m.name}}, "template": template,
		}}, "")
	}
}

// strangers have ReplicaSets that somebody else has changed.
func (g *generator) strangers() {
	g.rollout("edited", fatePromoted+","+fateEdited, canary(nil))
	g.rollout("edited-paused", fatePaused+","+fateEdited, canary(steps()))
	g.rollout("twin", fatePromoted+","+fateTwin, canary(nil))
}
