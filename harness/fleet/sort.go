package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// The groups of what is loaded.
const (
	argo  = "argoproj.io"
	istio = "networking.istio.io"
)

// order is that in which kinds are loaded, before the Rollouts.
var order = []string{
	"Namespace", "PriorityClass", "ServiceAccount", "Service", "Deployment", "ReplicaSet", "PodTemplate", "Ingress",
	"VirtualService", "DestinationRule", "ClusterAnalysisTemplate", "AnalysisTemplate", "HorizontalPodAutoscaler", "PodDisruptionBudget",
}

// groups are the API groups of the kinds that are loaded.
var groups = map[string]string{
	"Namespace": "", "ServiceAccount": "", "Service": "", "PodTemplate": "",
	"PriorityClass": "scheduling.k8s.io", "Deployment": "apps", "ReplicaSet": "apps", "Ingress": "networking.k8s.io",
	"VirtualService": istio, "DestinationRule": istio, "Rollout": argo, "AnalysisTemplate": argo, "ClusterAnalysisTemplate": argo,
	"HorizontalPodAutoscaler": "autoscaling", "PodDisruptionBudget": "policy",
}

// clusterWide kinds have no namespace.
var clusterWide = []string{"Namespace", "PriorityClass", "ClusterAnalysisTemplate"}

// needless are kinds that simulated pods do without. Secrets stay where they are:
// what is loaded is recorded.
var needless = []string{
	"ConfigMap", "Secret", "StatefulSet", "DaemonSet", "Job", "CronJob", "NetworkPolicy", "Role", "RoleBinding", "ClusterRole",
	"ClusterRoleBinding", "PersistentVolumeClaim", "StorageClass", "LimitRange", "ResourceQuota", "ServiceMonitor", "PodMonitor",
	"PrometheusRule", "ExternalSecret", "SealedSecret", "Kustomization", "Application", "AppProject", "Gateway", "Certificate",
}

// sort puts the objects where they belong.
func (f *Fleet) sort(all []Object, namespace string) {
	seen := map[string]string{}
	for _, o := range all {
		group := o.GroupVersionKind().Group
		of, known := groups[o.GetKind()]
		switch {
		case known && of == group:
			settle(&o, namespace)
			if first, twice := seen[o.String()]; twice {
				f.Problems = append(f.Problems, Remark{o.Place(), fmt.Sprintf("%s was read from %s already: this one is not loaded", o, first)})
				continue
			}
			seen[o.String()] = o.Place()
			if o.GetKind() == "Rollout" {
				f.Rollouts = append(f.Rollouts, o)
			} else {
				f.Others = append(f.Others, o)
			}
		case slices.Contains(needless, o.GetKind()):
			f.LeftOut = append(f.LeftOut, Remark{o.Place(), o.String() + ": not needed, pods are simulated"})
		default:
			f.Unknown = append(f.Unknown, Remark{o.Place(), fmt.Sprintf("%s of %s: a kind that is not loaded", o, o.GetAPIVersion())})
		}
	}
	f.connect()
	slices.SortStableFunc(f.Others, func(a, b Object) int {
		return slices.Index(order, a.GetKind()) - slices.Index(order, b.GetKind())
	})
}

// settle gives an object its namespace, and takes off what a server put on it.
func settle(o *Object, namespace string) {
	if slices.Contains(clusterWide, o.GetKind()) {
		o.SetNamespace("")
	} else if o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	if o.GroupVersionKind().Group == istio {
		o.SetAPIVersion(istio + "/v1alpha3") // that which the controller reads
	}
	delete(o.Object, "status")
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink", "ownerReferences", "finalizers"} {
		delete(metadata, field)
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, name := range []string{"rollout.argoproj.io/revision", "kubectl.kubernetes.io/last-applied-configuration"} {
		delete(annotations, name)
	}
}

// connect leaves out workloads that no Rollout refers to and autoscalers of other
// things, and lists the references that lead nowhere.
func (f *Fleet) connect() {
	there := map[string]bool{}
	for _, o := range f.Others {
		there[o.String()] = true
	}
	wanted := map[string]bool{}
	for _, ro := range f.Rollouts {
		for _, ref := range References(ro) {
			wanted[ref.String()] = true
			if !there[ref.String()] && !ref.MadeUp {
				f.Problems = append(f.Problems, Remark{ro.Place(), fmt.Sprintf("%s refers to %s, which the fleet does not have", ro, ref)})
			}
		}
	}
	workloads := []string{"Deployment", "ReplicaSet", "PodTemplate"}
	f.Others = slices.DeleteFunc(f.Others, func(o Object) bool {
		unwanted := slices.Contains(workloads, o.GetKind()) && !wanted[o.String()] || o.GetKind() == "HorizontalPodAutoscaler" && scales(o) != "Rollout"
		if unwanted {
			f.LeftOut = append(f.LeftOut, Remark{o.Place(), o.String() + ": no Rollout needs it"})
		}
		return unwanted
	})
}

// scales is the kind that an autoscaler scales.
func scales(o Object) string { return Text(o.Object, "spec", "scaleTargetRef", "kind") }

// Scaled names the Rollouts that an autoscaler of the fleet scales, "namespace/name".
func (f *Fleet) Scaled() []string {
	var out []string
	for _, o := range f.Others {
		if o.GetKind() == "HorizontalPodAutoscaler" {
			out = append(out, o.GetNamespace()+"/"+Text(o.Object, "spec", "scaleTargetRef", "name"))
		}
	}
	return out
}

// Namespaces are those of all that is loaded, by name.
func (f *Fleet) Namespaces() []string {
	var out []string
	for _, o := range slices.Concat(f.Others, f.Rollouts) {
		if o.GetNamespace() != "" {
			out = append(out, o.GetNamespace())
		}
		if o.GetKind() == "Namespace" {
			out = append(out, o.GetName())
		}
	}
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
