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
	// weightFirst: the weight was written before the subsets.
	weightFirst bool

	removeAbort bool
	clearPause  bool
	endPause    bool
	addPause    bool
	addAbort    bool
}

func (p *pass) reconcile() {
	w := &p.m.world
	p.checkPaused()
	s := p.start.Status
	p.newStatus = s
	if p.m.spec.BlueGreen != nil {
		p.blueGreen()
		return
	}
	changed := s.StepsHash != p.m.stepsHash() || (s.Current != "" && s.Current != w.Template)
	p.findNew(changed)
	p.removeAbort = s.FullyPromoted() && s.Abort // rollout/controller.go:572 (v1.8.2)
	if p.scaled() {
		p.scale()
		p.patch()
		return
	}
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

// scaled is isScalingEvent: spec.replicas is not what the new or the stable ReplicaSet
// was last sized for. Then a pass sizes ReplicaSets and leaves services and routing alone.
// rollout/sync.go:320 (v1.8.2); v1.7 looks at every ReplicaSet with pods (:332)
func (p *pass) scaled() bool {
	for _, rs := range p.start.Sets {
		if rs.Version != p.start.Template && rs.Version != p.start.Status.Stable && !p.rules.AnyReplicaSetScales {
			continue
		}
		if rs.Size > 0 && rs.Desired != nil && *rs.Desired != p.m.spec.Replicas {
			p.decision.Basis = p.rules.Basis(RuleScaling)
			return true
		}
	}
	return false
}

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
	p.removeHeader()
	if !p.rules.stableReady(v, want) {
		p.held = "G"
		return true
	}
	p.setHeader(v)
	if p.rules.EarlyZeroWeight && (v.New == nil || v.New.Available == 0) && v.Status.Weights.Canary > 0 {
		p.weightFirst = true
		p.setWeight(want)
	}
	canary, stable := p.hashes(v)
	if !p.updateSubsets(v, canary, stable) {
		return false
	}
	p.setWeight(want)
	weights := Weights{Canary: want, Stable: v.Spec.maxWeight() - want, CanaryVersion: canary, StableVersion: stable}
	if !v.Status.HasWeights || v.Status.Weights != weights {
		p.event(EventWeight, fmt.Sprintf("from %d to %d", v.Status.Weights.Canary, want))
		p.newStatus.HasWeights, p.newStatus.Weights = true, weights
	}
	return true
}

// setWeight is Istio's SetWeight. Where no route is named it patches the first one without
// a name; from v1.8.3 on also one with a name, if it is the only one: a managed route
// makes it one of two, and then none is patched.
// rollout/trafficrouting/istio/istio.go:905 (v1.8.2)
func (p *pass) setWeight(want int) {
	w := &p.m.world
	if p.m.spec.RoutesOmitted && (!p.rules.OnlyRouteNeedsNoName || w.Header) {
		return
	}
	w.Weight = want
	if p.m.spec.SecondService {
		w.Second = want
	}
}

// removeHeader is RemoveManagedRoutes. It comes before the stable guard, and from v1.8 on
// also whenever the canary has no available pod. rollout/trafficrouting.go:225 (v1.8.2)
func (p *pass) removeHeader() {
	switch p.decision.Branch {
	case "B", "C", "E":
		p.m.world.Header = false
	case "D":
		if p.rules.EmptyCanaryLosesHeader {
			p.m.world.Header = false
		}
	}
}

// setHeader makes or removes the managed route while the step that says so is the current
// one, which is for one pass. rollout/trafficrouting.go:272 (v1.8.2)
func (p *pass) setHeader(v View) {
	step := v.step()
	if step == nil || step.Header == "" || v.New == nil || v.New.Revision <= 1 {
		return
	}
	p.m.world.Header = step.Header == HeaderSet
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
