package revisions

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/model/deployment"
)

// source is a place in Kubernetes that the model of Deployments does not name.
type source string

// Places, with what is decided there.
const (
	release      source = "release"      // owned, and the selector does not match: the reference is taken away
	ignore       source = "ignore"       // no owner, and the selector does not match: left alone
	adoption     source = "adoption"     // no owner, and the selector matches: the reference is put in
	manage       source = "manage"       // claimed pods against spec.replicas
	victims      source = "victims"      // which pods are too many
	counted      source = "counted"      // the status speaks of the pods before the pass's own creates and deletes
	unmanaged    source = "unmanaged"    // a ReplicaSet that is being deleted makes no pods
	statusOnly   source = "statusOnly"   // a Deployment that is being deleted writes its status only
	finalizers   source = "finalizers"   // what a propagation policy puts on the object
	unfinished   source = "unfinished"   // an object whose last finalizer goes is gone
	dependents   source = "dependents"   // the owner is gone: those that it owned are looked at
	collected    source = "default"      // no owner left: deleted, in the background
	waiting      source = "waiting"      // the owner waits, and the object owns others: deleted in the foreground
	blocking     source = "blocking"     // nothing left that blocks: the finalizer goes
	orphaning    source = "orphaning"    // the references of all dependents go first
	orphaned     source = "orphaned"     // and then the owner's finalizer
	oldOnly      source = "oldOnly"      // old ReplicaSets only are cleaned up
	afterRollout source = "afterRollout" // when the rollout is complete
	byRevision   source = "byRevision"   // number, then creation, then name
	past         source = "past"         // the old number goes into an annotation
)

const (
	references = "pkg/controller/controller_ref_manager.go"
	replicaSet = "pkg/controller/replicaset/replica_set.go"
	deployer   = "pkg/controller/deployment/"
	collector  = "pkg/controller/garbagecollector/garbagecollector.go"
	graph      = "pkg/controller/garbagecollector/graph_builder.go"
	store      = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go"
)

// tags are those at which the lines were read, for the groups of the model.
var tags = [3]string{"v1.34.2", "v1.36.3", "v1.37.2"}

var places = map[source]struct {
	file  string
	lines [3]int
}{
	release:      {references, [3]int{88, 88, 88}},
	ignore:       {references, [3]int{102, 102, 102}},
	adoption:     {references, [3]int{117, 117, 117}},
	manage:       {replicaSet, [3]int{597, 650, 650}},
	victims:      {replicaSet, [3]int{657, 710, 710}},
	counted:      {replicaSet, [3]int{758, 824, 824}},
	unmanaged:    {replicaSet, [3]int{752, 818, 818}},
	statusOnly:   {deployer + "deployment_controller.go", [3]int{644, 643, 618}},
	finalizers:   {store, [3]int{976, 984, 1048}},
	unfinished:   {store, [3]int{590, 598, 658}},
	dependents:   {graph, [3]int{843, 867, 867}},
	collected:    {collector, [3]int{625, 635, 635}},
	waiting:      {collector, [3]int{591, 596, 596}},
	blocking:     {collector, [3]int{651, 666, 666}},
	orphaning:    {collector, [3]int{748, 763, 763}},
	orphaned:     {collector, [3]int{754, 769, 769}},
	oldOnly:      {deployer + "sync.go", [3]int{453, 452, 451}},
	afterRollout: {deployer + "rolling.go", [3]int{58, 58, 58}},
	byRevision:   {deployer + "util/deployment_util.go", [3]int{964, 964, 959}},
	past:         {deployer + "util/deployment_util.go", [3]int{271, 271, 271}},
}

// sources are the places at the tag of a group.
func sources(group deployment.Group, of ...source) []string {
	i := slices.Index(deployment.Groups(), group)
	if i < 0 {
		i = len(tags) - 1
	}
	var out []string
	for _, s := range of {
		out = append(out, fmt.Sprintf("%s:%d (%s)", places[s].file, places[s].lines[i], tags[i]))
	}
	return out
}

// Places in kubectl, which is the same for every cluster.
const (
	rollback  = "k8s.io/kubectl/pkg/polymorphichelpers/rollback.go:99 (v0.37.2)"
	whichOne  = "k8s.io/kubectl/pkg/polymorphichelpers/rollback.go:212 (v0.37.2)"
	whenSame  = "k8s.io/kubectl/pkg/polymorphichelpers/rollback.go:131 (v0.37.2)"
	rolledOut = "rolled back" // :43
)
