package revisions

import (
	"regexp"
	"strings"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Series names.
const (
	Answer = "answer"     // what kubectl said
	Kept   = "kept"       // ReplicaSets of all versions
	Life   = "deployment" // whether the Deployment exists, with its finalizers
	Exists = "exists"     // 1 while it does
	Owned  = "owned"      // pods that a ReplicaSet controls and that do not terminate
	Own    = "own"        // those of them that it created itself
	Free   = "free-sets"  // ReplicaSets that no Deployment controls
)

// LifeOf is whom the ReplicaSet of a version belongs to, with its finalizers.
func LifeOf(version string) string { return "replicaset." + version }

// PastOf are the revisions that the ReplicaSet of a version had before.
func PastOf(version string) string { return "past." + version }

// AliveOf counts the pods of a role that do not terminate, OwnedOf those of them
// that a ReplicaSet controls.
func AliveOf(role string) string { return "alive." + role }
func OwnedOf(role string) string { return "owned." + role }

// pastAnnotation is where the Deployment controller keeps old numbers
// (pkg/controller/deployment/util/deployment_util.go:41, v1.37.2).
const pastAnnotation = "deployment.kubernetes.io/revision-history"

// States of the Deployment and its ReplicaSets, without finalizers.
const (
	there      = "there"
	controlled = "owned"
	ownerless  = "without an owner"
	gone       = "gone"
)

// definitions are the scenario's own series.
func definitions(versions []string) []series.Definition {
	defs := []series.Definition{
		{Name: Answer, Doc: "answers of kubectl rollout undo", Log: &series.FromLog{Component: kubectl, Match: regexp.MustCompile(`.+`)}},
		life(Life, "the Deployment, with its finalizers", workload.Deployments, func(v *series.View) (string, bool) {
			return there, v.Metadata.Name == workload.Name
		}),
		count(Exists, "Deployments", workload.Deployments, func(v *series.View) bool { return v.Metadata.Name == workload.Name }),
		count(Free, "ReplicaSets that no Deployment controls", workload.ReplicaSets, func(v *series.View) bool { return !controls(v, "Deployment") }),
		count(Owned, "pods that a ReplicaSet controls", workload.Pods, owned),
		count(Own, "pods that a ReplicaSet controls and created", workload.Pods, own),
	}
	for _, role := range []string{Foreign, Stray, Released} {
		defs = append(defs,
			count(AliveOf(role), role+" pods that do not terminate", workload.Pods, func(v *series.View) bool { return alive(v) && has(v, role) }),
			count(OwnedOf(role), role+" pods that a ReplicaSet controls", workload.Pods, func(v *series.View) bool { return owned(v) && has(v, role) }),
		)
	}
	var sets []string
	for _, version := range versions {
		sets = append(sets, workload.Sets(version))
		defs = append(defs, lifeOf(version), pastOf(version))
	}
	return append(defs, series.Definition{Name: Kept, Unit: "ReplicaSets", Doc: "ReplicaSets of all versions", Derive: &series.Derived{
		Inputs: sets, Value: sum,
	}})
}

func lifeOf(version string) series.Definition {
	return life(LifeOf(version), "the ReplicaSet of "+version+", its owner and its finalizers", workload.ReplicaSets, func(v *series.View) (string, bool) {
		state := ownerless
		if controls(v, "Deployment") {
			state = controlled
		}
		return state, v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version
	})
}

func pastOf(version string) series.Definition {
	return series.Definition{Name: PastOf(version), Doc: "former revisions of the ReplicaSet of " + version, Object: &series.FromObject{
		Resource: workload.ReplicaSets, Value: func(v *series.View) (series.Value, bool) {
			past := v.Metadata.Annotations[pastAnnotation]
			return series.Text(past), past != "" && v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version
		},
	}}
}

// life is the state of one object from its creation to its end.
func life(name, doc, resource string, state func(*series.View) (string, bool)) series.Definition {
	end := series.Text(gone)
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: resource, Gone: &end, Value: func(v *series.View) (series.Value, bool) {
		text, ok := state(v)
		return series.Text(withFinalizers(text, v.Metadata.Finalizers...)), ok
	}}}
}

func withFinalizers(state string, finalizers ...string) string {
	return strings.Join(append([]string{state}, finalizers...), ", ")
}

func count(name, doc, resource string, counts func(*series.View) bool) series.Definition {
	return series.Definition{Name: name, Doc: doc, Sum: &series.SumOfObjects{Resource: resource, Value: func(v *series.View) (float64, bool) {
		return 1, counts(v)
	}}}
}

func alive(v *series.View) bool { return v.Metadata.DeletionTimestamp == "" }

// owned says whether a ReplicaSet controls a pod that does not terminate.
func owned(v *series.View) bool { return alive(v) && controls(v, "ReplicaSet") }

// own says so of a pod that the script had nothing to do with.
func own(v *series.View) bool { return owned(v) && has(v, "") }

func has(v *series.View, role string) bool { return v.Metadata.Labels[RoleLabel] == role }

// controls says whether the object's controller is of that kind.
func controls(v *series.View, kind string) bool {
	for _, o := range v.Metadata.OwnerReferences {
		if o.Controller && o.Kind == kind {
			return true
		}
	}
	return false
}

func sum(in []float64) float64 {
	total := 0.0
	for _, v := range in {
		total += v
	}
	return total
}
