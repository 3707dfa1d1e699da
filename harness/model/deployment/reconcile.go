package deployment

// Reconcile returns the writes of one pass of the controller, in order.
// deployment_controller.go:574 (v1.37.2), :590 (v1.34.2)
//
// A pass sees all ReplicaSets at one moment; what it wrote itself it sees as written. A
// write that fails (its ReplicaSet has a newer version) ends the pass.
func Reconcile(v View) []Scale { return AppendPass(nil, &v) }

// AppendPass is Reconcile into a slice that the caller owns.
func AppendPass(out []Scale, v *View) []Scale {
	p := pass{View: v, out: out, first: len(out)}
	switch {
	case v.Spec.Paused, v.scalingEvent():
		p.scale()
	case v.Spec.Recreate:
		p.recreate()
	default:
		p.rolling()
	}
	return p.out
}

// pass is one run of syncDeployment.
type pass struct {
	*View
	out   []Scale
	first int // of this pass in out

	created bool // the new ReplicaSet, in this pass
	size    int  // its size then
}

// replicas is the size of a ReplicaSet, as this pass wrote it.
func (p *pass) replicas(set int) int {
	for i := len(p.out) - 1; i >= p.first; i-- {
		if p.out[i].Set == set {
			return p.out[i].To
		}
	}
	return p.Sets[set].Replicas
}

// write scales a ReplicaSet if that changes its size.
// sync.go:407 (v1.37.2), :403 (v1.34.2)
func (p *pass) write(set, to int, why Rule) bool {
	from := p.replicas(set)
	if from == to {
		return false
	}
	p.out = append(p.out, Scale{set, from, to, why})
	return true
}

// create makes the missing new ReplicaSet. Its size may be 0. sync.go:220 (v1.37.2)
func (p *pass) create() {
	p.created, p.size = true, p.newSize(0)
	p.out = append(p.out, Scale{NoSet, 0, p.size, RuleCreate})
}

// fresh is the new ReplicaSet's size and available pods.
func (p *pass) fresh() (size, available int) {
	if p.New == NoSet {
		return p.size, 0 // an answer to a create has no status
	}
	return p.replicas(p.New), p.Sets[p.New].Available
}

// total is the sum of spec.replicas.
func (p *pass) total() int {
	sum := 0
	if p.created {
		sum = p.size
	}
	for i := range p.Sets {
		sum += p.replicas(i)
	}
	return sum
}

// newSize is the size that the surge allows the new ReplicaSet. It counts wanted pods, so
// pods that a ReplicaSet has still to delete do not hold it back.
// util/deployment_util.go:817 (v1.37.2), :820 (v1.34.2)
func (p *pass) newSize(now int) int {
	if p.Spec.Recreate {
		return p.Spec.Replicas
	}
	room := p.Spec.Most() - p.total()
	if room <= 0 {
		return now
	}
	return now + min(room, p.Spec.Replicas-now)
}

// rolling is one pass of a rolling update. A pass that only created the new ReplicaSet
// goes on to the old ones. rolling.go:31 (v1.37.2)
func (p *pass) rolling() {
	if p.New == NoSet {
		p.create()
	}
	if p.scaleNew() {
		return
	}
	p.scaleOld()
}

// scaleNew is reconcileNewReplicaSet. rolling.go:68 (v1.37.2)
func (p *pass) scaleNew() bool {
	size, _ := p.fresh()
	if p.New == NoSet || size == p.Spec.Replicas {
		return false // what was created already has the size that newSize would give
	}
	if size > p.Spec.Replicas {
		return p.write(p.New, p.Spec.Replicas, RuleNew)
	}
	return p.write(p.New, p.newSize(size), RuleNew)
}

// scaleOld is reconcileOldReplicaSets. The pods that the new ReplicaSet still lacks are
// not taken from the old ones. rolling.go:86 (v1.37.2)
func (p *pass) scaleOld() {
	size, available := p.fresh()
	total := p.total()
	if total == size {
		return
	}
	most := total - p.Spec.Least() - (size - available)
	if most <= 0 || !p.cleanUnhealthy(most) {
		return
	}
	p.scaleDown()
}

// cleanUnhealthy takes unavailable pods from old ReplicaSets, oldest first, at most that
// many. It gives up at a ReplicaSet with more available pods than it wants, which has yet
// to delete some: upstream computes a negative count, calls it an invalid request and
// drops the error. What was written before stays. rolling.go:155 (v1.37.2)
func (p *pass) cleanUnhealthy(most int) bool {
	done := 0
	for i := range p.Sets {
		if done >= most {
			break
		}
		size := p.Sets[i].Replicas
		if i == p.New || size == 0 || size == p.Sets[i].Available {
			continue
		}
		n := min(most-done, size-p.Sets[i].Available)
		if n < 0 {
			return false
		}
		p.write(i, size-n, RuleUnhealthy)
		done += n
	}
	return true
}

// scaleDown takes from old ReplicaSets, oldest first, what is available above the lower
// fencepost. Available pods of an old ReplicaSet that wants none are not counted.
// rolling.go:193 (v1.37.2)
func (p *pass) scaleDown() {
	_, spare := p.fresh()
	spare -= p.Spec.Least()
	for i := range p.Sets {
		if i != p.New && p.Sets[i].Replicas > 0 {
			spare += p.Sets[i].Available
		}
	}
	for i := range p.Sets {
		if spare <= 0 {
			return
		}
		size := p.replicas(i)
		if i == p.New || size == 0 {
			continue
		}
		n := min(size, spare)
		p.write(i, size-n, RuleOld)
		spare -= n
	}
}
