package rollouts

import (
	"cmp"
	"slices"
)

// blueGreen is rolloutBlueGreen, in its order: the preview Service, sizes, the pause, the
// active Service, the status. rollout/bluegreen.go:18 (v1.8.2)
func (p *pass) blueGreen() {
	s := p.start.Status
	changed := s.Current != "" && s.Current != p.start.Template
	p.findNew(false)
	p.removeAbort = s.FullyPromoted() && s.Abort // rollout/controller.go:572 (v1.8.2)
	if p.scaled() {
		p.scaleBlueGreen()
		p.patch()
		return
	}
	p.selects(&p.m.world.PreviewService, "preview", p.start.Template) // whatever pods it has: service.go:86
	if !changed {
		p.scaleBlueGreen()
		p.pauseBlueGreen()
		p.switchActive()
	}
	p.syncBlueGreen(changed)
}

// selects is switchServiceSelector. rollout/service.go:59 (v1.8.2)
func (p *pass) selects(svc *Service, name, version string) {
	if svc.Managed && svc.Selector == version {
		return
	}
	*svc = Service{Selector: version, Managed: true}
	p.event(EventSwitch, name+" to "+version)
}

// scaleBlueGreen is reconcileBlueGreenReplicaSets. Unlike the canary's it goes on when one
// ReplicaSet has changed. rollout/bluegreen.go:82 (v1.8.2)
func (p *pass) scaleBlueGreen() {
	p.removeDeadlines()
	v := p.view()
	if v.Stable != nil {
		p.resize(v.Stable, v.Spec.Replicas)
	}
	if v.Stable == nil || v.New == nil || v.Stable.Version != v.New.Version {
		p.scaleNew()
	}
	others := p.others(v)
	slices.SortStableFunc(others, func(a, b ReplicaSet) int { return cmp.Compare(b.Revision, a.Revision) })
	for _, rs := range others {
		if live := p.live(&rs); !p.selected(rs.Version) && live.Size > 0 {
			if size := p.delayedSize(live); size != live.Size {
				p.resize(&rs, size)
			}
		}
	}
}

// previewSize is the blue-green part of NewRSNewReplicas.
// utils/replicaset/replicaset.go:252 (v1.8.2)
func (v View) previewSize() int {
	s, preview := v.Status, v.Spec.BlueGreen.PreviewReplicas
	switch {
	case preview == nil, s.Active == "", s.Active == v.New.Version, s.PromoteFull:
		return v.Spec.Replicas
	case v.New.Version != s.Current:
		return *preview
	case !s.Paused && s.CheckPoint:
		return v.Spec.Replicas
	}
	return *preview
}

// selected is isReplicaSetReferenced. rollout/replicaset.go:321 (v1.8.2)
func (p *pass) selected(version string) bool {
	s, w := p.start.Status, p.m.world
	return slices.Contains([]string{s.Stable, s.Current, s.Active, s.Preview, w.ActiveService.Selector, w.PreviewService.Selector}, version)
}

// delayedSize is scaleDownDelayHelper: as it is in the pass that sets the deadline, then
// spec.replicas, whatever it was before, until the deadline.
// rollout/replicaset.go:282 (v1.8.2), called with spec.replicas at rollout/bluegreen.go:234
func (p *pass) delayedSize(rs *ReplicaSet) int {
	switch {
	case rs.Deadline == nil:
		at := p.m.world.Now + p.m.spec.scaleDownDelay()
		rs.Deadline = &at
		return rs.Size
	case *rs.Deadline > p.m.world.Now:
		return p.m.spec.Replicas
	}
	return 0
}

// fastTracked says whether an update may skip its pause. Before v1.10 any ReplicaSet that
// had a scale-down deadline when the pass began may: also one that was aborted, and one
// that is newer than the stable one. rollout/bluegreen.go:113 (v1.8.2)
func (p *pass) fastTracked(v View) bool {
	active := p.m.world.ActiveService.Selector
	fast := v.New.Deadline != nil
	if p.rules.FastRollback {
		fast = p.fastRollback(v)
	}
	return fast || v.Status.PromoteFull || active == "" || active == v.New.Version
}

// fastRollback is isFastRollback. rollout/sync.go:955 (v1.10.1)
func (p *pass) fastRollback(v View) bool {
	if v.New == nil || v.Stable == nil {
		return false
	}
	if v.Status.Stable == v.New.Version {
		return true
	}
	within := v.New.Deadline != nil && *v.New.Deadline > p.start.Now
	return v.New.BornAt < v.Stable.BornAt && (within || p.inWindow())
}

// ready is ReadyForPause: the new ReplicaSet has the pods that this stage wants.
// utils/replicaset/bluegreen.go:33 (v1.8.2)
func (v View) ready() bool {
	size := v.previewSize()
	return v.New.Size == size && v.New.Available == size
}

// saturated is IsSaturated. utils/annotations/annotations.go:257 (v1.8.2)
func (v View) saturated() bool {
	replicas := v.Spec.Replicas
	return v.New.Size == replicas && v.New.Available == replicas && v.New.Desired != nil && *v.New.Desired == replicas
}

// pauseBlueGreen is reconcileBlueGreenPause. rollout/bluegreen.go:133 (v1.8.2)
func (p *pass) pauseBlueGreen() {
	v := p.view()
	s := v.Status
	switch {
	case s.Abort || !v.ready():
	case p.fastTracked(v), s.CheckPoint, !v.Spec.BlueGreen.pauses():
		p.endPause = true
	case s.Paused:
		p.endPause = p.pauseOver(v)
	default:
		p.addPause = !s.ControllerPause // else somebody has promoted it
	}
}

// pauseOver is CompletedBlueGreenPause. With autoPromotionSeconds a pause that somebody
// ended is not over: it begins anew. rollout/pause.go:145 (v1.8.2)
func (p *pass) pauseOver(v View) bool {
	s, b := v.Status, v.Spec.BlueGreen
	switch {
	case p.addPause:
		return false
	case s.CheckPoint, !b.pauses():
		return true
	case b.Approval:
		return s.ControllerPause && !s.Paused
	}
	return s.Paused && p.m.world.Now >= s.PausedAt+b.AutoPromotionSeconds
}

// switchActive is reconcileActiveService: nothing happens before all of spec.replicas are
// available, not even the way back of an abort. rollout/service.go:104 (v1.8.2)
func (p *pass) switchActive() {
	v, svc := p.view(), &p.m.world.ActiveService
	p.decision.Basis = p.rules.Basis(RuleActive)
	if !v.ready() || !v.saturated() {
		return
	}
	to := svc.Selector
	if p.fastTracked(v) || p.pauseOver(v) {
		to = v.New.Version
	}
	if v.Status.Abort {
		to = v.Status.Stable
	}
	p.selects(svc, "active", to)
}

// syncBlueGreen is syncRolloutStatusBlueGreen. rollout/bluegreen.go:259 (v1.8.2)
func (p *pass) syncBlueGreen(changed bool) {
	s, v := &p.newStatus, p.view()
	s.Current = p.start.Template
	if changed { // the checkpoint, reset here, comes back below
		p.clearPause, p.removeAbort = true, true
		s.PromoteFull = false
		p.decision.Basis = p.rules.Basis(RulePreview)
	}
	if v.Status.PromoteFull || p.inWindow() {
		p.clearPause, p.removeAbort = true, true
	}
	s.Active, s.Preview = p.m.world.ActiveService.Selector, p.m.world.PreviewService.Selector
	if reason := p.blueGreenReason(v); reason != "" {
		p.promote(reason)
	} else {
		s.CheckPoint = p.checkPoint(v)
	}
	p.patch()
}

// blueGreenReason is shouldFullPromote; "" means not yet. rollout/sync.go:962 (v1.8.2)
func (p *pass) blueGreenReason(v View) string {
	s := p.newStatus
	switch {
	case v.Stable == nil, s.Active == "":
		return "Initial deploy"
	case s.Active != s.Current:
		return ""
	case v.Status.PromoteFull:
		return "Full promotion requested"
	case p.inWindow():
		return "Rollback within window"
	case p.rules.FastRollback && p.fastRollback(v):
		return "Fast rollback"
	case p.aborted():
		return ""
	}
	return "Completed blue-green update"
}

// checkPoint is calculateScaleUpPreviewCheckPoint. It looks at the status as it was, so
// that one that the update before has reached outlives a change of the template.
// rollout/bluegreen.go:322 (v1.8.2)
func (p *pass) checkPoint(v View) bool {
	preview := v.Spec.BlueGreen.PreviewReplicas
	switch {
	case preview == nil:
		return false
	case v.Status.CheckPoint:
		return true
	case !p.pauseOver(v):
		return false
	}
	return v.New.Available == *preview
}
