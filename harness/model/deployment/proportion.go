package deployment

// scalingEvent says whether an active ReplicaSet was last scaled for another number of
// replicas. sync.go:538 (v1.37.2), :540 (v1.34.2)
func (v *View) scalingEvent() bool {
	for i := range v.Sets {
		r := &v.Sets[i]
		if r.Replicas > 0 && r.Desired != NoAnnotation && r.Desired != v.Spec.Replicas {
			return true
		}
	}
	return false
}

// scale is the pass of a paused Deployment and of a changed spec.replicas. It creates
// nothing. sync.go:307 (v1.37.2)
func (p *pass) scale() {
	active, only := 0, NoSet
	for i := range p.Sets {
		if p.Sets[i].Replicas > 0 {
			active, only = active+1, i
		}
	}
	switch {
	case active <= 1:
		p.scaleOnly(only)
	case p.saturated():
		// FindActiveOrLatest left the old ones newest first.
		for i := len(p.Sets) - 1; i >= 0; i-- {
			if i != p.New && p.Sets[i].Replicas > 0 {
				p.write(i, 0, RuleSaturated)
			}
		}
	case !p.Spec.Recreate:
		p.proportional()
	}
}

// scaleOnly gives the whole size to the only active ReplicaSet; if there is none, to the
// new one, or else the youngest. util/deployment_util.go:356 (v1.37.2), :357 (v1.34.2)
func (p *pass) scaleOnly(only int) {
	if only == NoSet {
		if only = p.New; only == NoSet {
			only = len(p.Sets) - 1
		}
	}
	if only >= 0 {
		p.write(only, p.Spec.Replicas, RuleOnly)
	}
}

// saturated is a new ReplicaSet with all pods available and scaled for the present size.
// util/deployment_util.go:848 (v1.37.2), :851 (v1.34.2)
func (v *View) saturated() bool {
	if v.New == NoSet {
		return false
	}
	r, n := &v.Sets[v.New], v.Spec.Replicas
	return r.Replicas == n && r.Desired == n && r.Available == n
}

// proportional shares a change of size among the active ReplicaSets, largest first; the
// largest also takes what rounding left. A ReplicaSet that keeps its size still gets new
// annotations. sync.go:332 (v1.37.2)
func (p *pass) proportional() {
	allowed, total := 0, p.total()
	if p.Spec.Replicas > 0 {
		allowed = p.Spec.Most()
	}
	add := allowed - total
	from := len(p.out)
	p.appendActive(add)
	shares := p.out[from:]
	added := 0
	for i := range shares {
		n := p.proportion(shares[i].Set, add, added)
		shares[i].To += n
		added += n
	}
	if add != 0 {
		shares[0].To = max(0, shares[0].To+add-added)
	}
	p.dropUnchanged(from)
}

// appendActive lists the active ReplicaSets in the order in which they share: larger
// first, and of equals the younger first when growing, the older when shrinking.
func (p *pass) appendActive(add int) {
	from := len(p.out)
	for i := len(p.Sets) - 1; i >= 0; i-- {
		if n := p.Sets[i].Replicas; n > 0 && (add != 0 || i != p.New) {
			p.out = append(p.out, Scale{i, n, n, RuleProportional})
		}
	}
	if add == 0 { // unsorted: old ones youngest first, then the new one
		if p.New != NoSet && p.Sets[p.New].Replicas > 0 {
			n := p.Sets[p.New].Replicas
			p.out = append(p.out, Scale{p.New, n, n, RuleProportional})
		}
		return
	}
	list := p.out[from:] // insertion sort: a handful, and no allocation
	for i := range list {
		for j := i; j > 0 && before(list[j], list[j-1], add); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// before is the order by size, then age. pkg/controller/controller_utils.go:1245, :1258 (v1.37.2)
func before(a, b Scale, add int) bool {
	if a.From != b.From {
		return a.From > b.From
	}
	if add > 0 {
		return a.Set > b.Set
	}
	return a.Set < b.Set
}

// dropUnchanged keeps what is written: a new size, or annotations that differ.
// sync.go:407 (v1.37.2), :412 (v1.34.2)
func (p *pass) dropUnchanged(from int) {
	kept := p.out[:from]
	for _, s := range p.out[from:] {
		r := &p.Sets[s.Set]
		if s.From != s.To || r.Desired != p.Spec.Replicas || r.Max != p.Spec.Most() {
			kept = append(kept, s)
		}
	}
	p.out = kept
}

// proportion is the share of one ReplicaSet, bounded by what is left to share.
// util/deployment_util.go:479 (v1.37.2), :480 (v1.34.2)
func (v *View) proportion(set, add, added int) int {
	if add == 0 || add == added {
		return 0
	}
	fraction := v.fraction(&v.Sets[set])
	if add > 0 {
		return min(fraction, add-added)
	}
	return max(fraction, add-added)
}

// fraction keeps a ReplicaSet's part of the largest total that was allowed when it was
// last scaled. Halves are rounded away from zero.
// util/deployment_util.go:501 (v1.37.2), :502 (v1.34.2)
func (v *View) fraction(r *ReplicaSet) int {
	if v.Spec.Replicas == 0 {
		return -r.Replicas
	}
	before := r.Max
	if before <= 0 {
		if before = v.StatusReplicas; before == 0 {
			return 0
		}
	}
	return (2*r.Replicas*v.Spec.Most()+before)/(2*before) - r.Replicas
}
