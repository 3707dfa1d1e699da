package statefulset

// An Envelope is what every update of a set keeps to, in whatever order its pods become
// ready, if all were ready at the start and none loses its readiness by itself.
type Envelope struct {
	// LeastReady pods are ready and not terminating at any time.
	LeastReady int
	// MaxUnavailable is what the update may have down at once, and does.
	MaxUnavailable int
	// Deletions is the one order in which the controller deletes: from the highest
	// ordinal down to the partition.
	Deletions []int
	// CreationsOrdered says that the order in which pods are made is the same too. It is
	// not when several pods of a Parallel set are down at once: each is made as soon as
	// its predecessor is gone. An ordered set makes them one after the other from the
	// lowest, and deletes more only when all are ready.
	CreationsOrdered bool
}

// Envelope is that of an update of all pods from the partition on.
func (r Rules) Envelope(spec Spec) Envelope {
	e := Envelope{LeastReady: spec.Replicas, CreationsOrdered: true}
	if spec.OnDelete {
		return e
	}
	for i := spec.Replicas - 1; i >= spec.partition(); i-- {
		e.Deletions = append(e.Deletions, spec.Start+i)
	}
	e.MaxUnavailable = min(r.MaxUnavailableOf(spec), len(e.Deletions))
	e.LeastReady -= e.MaxUnavailable
	e.CreationsOrdered = spec.ordered() || e.MaxUnavailable <= 1
	return e
}
