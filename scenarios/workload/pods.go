package workload

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
)

// PodsFollow is the claim that pods do what their ReplicaSet wants and nothing
// else: none is made beyond its size, none goes before it wants fewer.
func (k Key) PodsFollow(window series.Window) []judge.Claim {
	if k.NoPods {
		return nil
	}
	var of []string
	for _, v := range k.Versions {
		of = append(of, Wanted(v), LiveOf(v))
	}
	return []judge.Claim{{
		ID: "pods-follow", Sentence: "no pod is made beyond what its ReplicaSet wants, and none goes before it wants fewer",
		Basis: []string{"pkg/controller/replicaset/replica_set.go, manageReplicas: the difference between the pods and spec.replicas"},
		Check: judge.Path{
			Of: of, Rule: "only pods that are wanted", Window: window,
			Begin: func() judge.Walk { return (&follow{versions: k.Versions}).next },
		},
	}}
}

// follow walks along the sizes and pods of all versions. The ReplicaSet
// controller may not have seen the newest size yet, so the one before counts
// too, until there are as many pods as the newest says.
type follow struct {
	versions []string
	before   []float64 // the last other size of each version
	last     []series.Value
}

func (f *follow) next(state []series.Value) error {
	defer func() { f.last = slices.Clone(state) }()
	if f.last == nil {
		for i := range f.versions {
			f.before = append(f.before, state[2*i].Num)
		}
		return nil
	}
	for i, v := range f.versions {
		size, pods := state[2*i].Num, state[2*i+1].Num
		if was := f.last[2*i].Num; was != size {
			f.before[i] = was
		}
		least, most := min(size, f.before[i]), max(size, f.before[i])
		switch was := f.last[2*i+1].Num; {
		case pods > was && pods > most:
			return fmt.Errorf("%s has %g pods and its ReplicaSet wants %g", v, pods, size)
		case pods < was && pods < least:
			return fmt.Errorf("a pod of %s went: %g are left and its ReplicaSet wants %g", v, pods, size)
		}
		if pods == size {
			f.before[i] = size
		}
	}
	return nil
}
