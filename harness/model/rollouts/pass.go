package rollouts

import "fmt"

// The reasons of events, as the controller sends them.
const (
	EventCompleted    = "RolloutCompleted"
	EventAborted      = "RolloutAborted"
	EventSkipSteps    = "SkipSteps"
	EventStep         = "RolloutStepCompleted"
	EventPaused       = "RolloutPaused"
	EventResumed      = "RolloutResumed"
	EventWeight       = "TrafficWeightUpdated"
	EventScaling      = "ScalingReplicaSet"
	EventNew          = "NewReplicaSetCreated"
	EventSwitch       = "SwitchService"
	EventSubsetUpdate = "UpdatedDestinationRule"
)

// A pass is rolloutContext: one reconcile. It reads start, the copy taken when it began,
// and writes to the machine's world, except that a switched selector is seen at once.
// rollout/canary.go:20 (v1.8.2)
type pass struct {
	m     *Machine
	rules Rules
	start World

	newStatus Status
	decision  Decision
	held      string
	events    []string
	err       string

	removeAbort bool
	clearPause  bool
	endPause    bool
	addPause    bool
	addAbort    bool
}

func (p *pass) reconcile() {
	w, s := &p.m.world, p.start.Status
	p.checkPaused()
	s = p.start.Status
	p.newStatus = s
	changed := s.StepsHash != p.m.stepsHash() || (s.Current != "" && s.Current != w.Template)
	p.findNew(changed)
	p.removeAbort = s.FullyPromoted() && s.Abort // rollout/controller.go:572 (v1.8.2)
	if changed {
		p.resetStatus()
		return
	}
	p.reconcileServices()
	if !p.reconcileTraffic() {
		return
	}
	if !p.scale() {
		p.pause()
	}
	p.syncStatus()
}

func (m *Machine) stepsHash() string { return "steps " + m.spec.StepsString() }

// findNew creates the wanted ReplicaSet if need be and gives it the highest revision.
func (p *pass) findNew(changed bool) {
	w := &p.m.world
	rs := find(w.Sets, w.Template)
	if rs == nil {
		if changed && !p.rules.CreateBeforePass {
			return
		}
		w.Sets = append(w.Sets, ReplicaSet{Version: w.Template, BornAt: w.Now})
		rs = &w.Sets[len(w.Sets)-1]
		p.event(EventNew, rs.Version)
	}
	for _, other := range w.Sets {
		if other.Version != rs.Version && other.Revision >= rs.Revision {
			rs.Revision = other.Revision + 1
		}
	}
	rs.Revision = max(rs.Revision, 1)
	p.start.Sets = p.m.World().Sets
}

// view is what the formulas read: the status as it was when the pass began.
func (p *pass) view() View {
	s := p.start.Status
	v := View{
		Spec: p.m.spec, Status: s, Aborted: p.aborted(),
		New: find(p.start.Sets, p.start.Template), Stable: find(p.start.Sets, s.Stable),
	}
	for _, rs := range p.start.Sets {
		if rs.Version != p.start.Template && rs.Version != s.Stable {
			v.Others = append(v.Others, rs)
		}
	}
	return v
}

func (p *pass) aborted() bool { return p.start.Status.Abort && !p.removeAbort }

func (p *pass) event(reason, message string) {
	p.events = append(p.events, reason+": "+message)
}

func (p *pass) inWindow() bool {
	s := p.start
	return InWindow(s.Sets, s.Template, s.Status.Stable, p.m.spec.WindowRevisions)
}

// reconcileServices points the selectors. rollout/service.go:253 (v1.8.2)
func (p *pass) reconcileServices() {
	v, w := p.view(), &p.m.world
	p.ensureService(&w.StableService, "stable", v.Stable, true)
	if v.rollingBackToStable() {
		return // the stable pods could not take the load yet
	}
	p.ensureService(&w.CanaryService, "canary", v.New, true)
}

// ensureService moves a selector if the ReplicaSet has an available pod; all of them the
// first time, when the Service is adopted. rollout/service.go:293 (v1.8.2)
func (p *pass) ensureService(svc *Service, name string, rs *ReplicaSet, check bool) {
	if p.m.spec.Routing != RoutingServices || rs == nil || svc.Selector == rs.Version {
		return
	}
	if check && (rs.Available == 0 || !svc.Managed && !rs.fullyAvailable()) {
		return
	}
	*svc = Service{Selector: rs.Version, Managed: true}
	p.event(EventSwitch, name+" to "+rs.Version)
}

// reconcileTraffic returns false when an error ends the pass.
// rollout/trafficrouting.go:156 (v1.8.2)
func (p *pass) reconcileTraffic() bool {
	v, w := p.view(), &p.m.world
	if v.Spec.basic() {
		return true
	}
	p.decision = p.rules.Decide(v)
	if p.decision.Panics {
		return p.fail("recovered from panic")
	}
	want := p.decision.Want
	if p.decision.Branch == "C" && (!v.Spec.DynamicStableScale || want == 0) {
		p.ensureService(&w.CanaryService, "canary", v.Stable, false)
	}
	if !p.rules.stableReady(v, want) {
		p.held = "G"
		return true
	}
	if p.rules.EarlyZeroWeight && (v.New == nil || v.New.Available == 0) && v.Status.Weights.Canary > 0 {
		w.Weight = want
	}
	canary, stable := p.hashes(v)
	if !p.updateSubsets(v, canary, stable) {
		return false
	}
	w.Weight = want
	weights := Weights{Canary: want, Stable: v.Spec.maxWeight() - want, CanaryVersion: canary, StableVersion: stable}
	if !v.Status.HasWeights || v.Status.Weights != weights {
		p.event(EventWeight, fmt.Sprintf("from %d to %d", v.Status.Weights.Canary, want))
		p.newStatus.HasWeights, p.newStatus.Weights = true, weights
	}
	return true
}

// hashes are the versions to balance between. On the way back to stable the canary is
// the one that was wanted before. rollout/trafficrouting.go:187 (v1.8.2)
func (p *pass) hashes(v View) (canary, stable string) {
	if v.New != nil {
		canary = v.New.Version
	}
	if v.Stable != nil {
		stable = v.Stable.Version
	}
	if p.decision.Branch == "A" {
		canary = v.Status.Weights.CanaryVersion
	}
	return canary, stable
}

func (p *pass) updateSubsets(v View, canary, stable string) bool {
	if v.Spec.Routing != RoutingSubsets {
		return true
	}
	d := p.rules.DecideSubsets(v, p.start.Sets, canary, stable)
	if !d.Write {
		p.held = "I"
		if d.Fails {
			return p.fail("delaying destination rule switch: ReplicaSet " + d.Blocking + " not fully available")
		}
		return true
	}
	if next := (Subsets{Canary: canary, Stable: stable}); p.m.world.Subsets != next {
		p.m.world.Subsets = next
		p.event(EventSubsetUpdate, "canary "+canary+", stable "+stable)
	}
	return true
}

func (p *pass) fail(err string) bool {
	p.err = err
	return false
}
