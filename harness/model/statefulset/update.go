package statefulset

// update deletes pods of an old revision from the highest ordinal down to the partition;
// the next passes make them anew. stateful_set_control.go:732
func (p *pass) update() {
	if !p.rules.MaxUnavailable {
		p.updateOne()
		return
	}
	unavailable, broken := 0, 0
	for _, s := range p.replicas {
		if s.pod.unavailable() {
			unavailable++
			if p.old(s) {
				broken++
			}
		}
	}
	budget := p.rules.MaxUnavailableOf(p.set.Spec) - unavailable
	twoPhases := p.rules.UnavailableFirst && !p.set.Spec.ordered()
	if budget <= 0 && (!twoPhases || broken == 0) {
		p.wait("%d of %d allowed unavailable pods", unavailable, p.rules.MaxUnavailableOf(p.set.Spec))
		return
	}
	if twoPhases {
		p.updateDown(WhyBroken, len(p.replicas), func(s slot) bool { return p.old(s) && !s.pod.Available })
		p.updateDown(WhyUpdate, budget, func(s slot) bool { return p.old(s) && s.pod.Available })
		return
	}
	p.updateDown(WhyUpdate, budget, p.old)
}

// updateOne deletes the highest pod of an old revision, unless one above it is
// unavailable. Being unavailable itself does not save it.
// stateful_set_control.go:749
func (p *pass) updateOne() {
	for i := len(p.replicas) - 1; i >= p.set.Spec.partition(); i-- {
		s := p.replicas[i]
		if p.old(s) {
			p.delete(s, WhyUpdate)
			return
		}
		if s.pod.unavailable() {
			p.wait("ordinal %d to be available", s.ordinal)
			return
		}
	}
}

// updateDown deletes at most n pods that match, from the highest.
// stateful_set_control.go:882, :899, :919
func (p *pass) updateDown(why Why, n int, match func(slot) bool) {
	for i := len(p.replicas) - 1; i >= p.set.Spec.partition() && n > 0; i-- {
		if s := p.replicas[i]; match(s) {
			p.delete(s, why)
			n--
		}
	}
}

// old is a pod that the update has still to delete.
func (p *pass) old(s slot) bool { return s.pod.Revision != p.set.Template && !s.pod.Terminating }

func (p *pass) delete(s slot, why Why) {
	p.do(Delete, s, why, p.batch)
	p.updated++
}
