package deployment

// recreate is one pass with the Recreate strategy: old ReplicaSets to 0; the new one, when
// no old pod is left. recreate.go:29 (v1.37.2)
func (p *pass) recreate() {
	scaled := false
	for i := range p.Sets {
		if i != p.New && p.write(i, 0, RuleRecreateDown) {
			scaled = true
		}
	}
	if scaled || p.oldPodsRunning() {
		return
	}
	if p.New == NoSet {
		p.create()
		return
	}
	p.write(p.New, p.Spec.Replicas, RuleRecreateUp)
}

// oldPodsRunning counts terminating pods too: they are in no status.replicas, but the
// controller looks at the pods themselves. Failed and succeeded ones do not count.
// recreate.go:99 (v1.37.2)
func (v *View) oldPodsRunning() bool {
	for i := range v.Sets {
		if i != v.New && (v.Sets[i].Pods > 0 || v.Sets[i].Running > 0) {
			return true
		}
	}
	return false
}
