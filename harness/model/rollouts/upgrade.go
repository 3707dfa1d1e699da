package rollouts

import "slices"

// Member is what of a Rollout decides over what another version of the controller
// does to it that finds it as it is.
type Member struct {
	// AntiAffinity is the strategy's: none, "preferred" or "required".
	AntiAffinity AntiAffinity `json:"antiAffinity,omitempty"`
	// OwnPodAntiAffinity: the template has a podAntiAffinity of its own.
	OwnPodAntiAffinity bool `json:"ownPodAntiAffinity,omitempty"`
	// BareAnalysis: an analysis step of the manifest is written without
	// analysisRunMetadata, or with clusterScope: false.
	BareAnalysis bool `json:"bareAnalysis,omitempty"`
	// Reapplied: the manifest was applied again after the controller last wrote the spec.
	Reapplied bool `json:"reapplied,omitempty"`
	// Updated: its present ReplicaSet was made by an update, not by the first deployment.
	Updated bool `json:"updated,omitempty"`
	// Pauses: an update of it stops until somebody promotes it.
	Pauses bool `json:"pauses,omitempty"`
	// Paused: it stands in the middle of an update.
	Paused bool `json:"paused,omitempty"`
	// Edited: the template of its present ReplicaSet was changed by somebody else.
	Edited bool `json:"edited,omitempty"`
	// Twin: an older ReplicaSet of it has the same template.
	Twin bool `json:"twin,omitempty"`
}

// AntiAffinity is the rule that a strategy has the controller put into templates.
type AntiAffinity string

// The anti-affinities of a strategy.
const (
	AntiAffinityNone      AntiAffinity = ""
	AntiAffinityPreferred AntiAffinity = "preferred"
	AntiAffinityRequired  AntiAffinity = "required"
)

// An Effect is what a change of the controller's version does to a Rollout.
type Effect string

const (
	// Untouched: nothing but its status may be written.
	Untouched Effect = "untouched"
	// Rewritten: the template of its ReplicaSet is written anew; no pod is made or ended.
	Rewritten Effect = "rewritten"
	// Restarted: the update begins again with its first step, with the same ReplicaSets.
	Restarted Effect = "restarted"
	// Redeployed: there is a new revision with a new ReplicaSet of the same template.
	Redeployed Effect = "redeployed"
	// Reverted: there is a new revision with an older ReplicaSet.
	Reverted Effect = "reverted"
)

// Cause is an effect with its reason.
type Cause struct {
	Effect Effect
	// Why is a sentence, empty for Untouched.
	Why   string
	Basis []Basis
}

// serialization is how a group's release writes what it hashes.
type serialization struct {
	// nullTime: a template's metadata has a creationTimestamp that is null.
	// k8s.io/apimachinery pkg/apis/meta/v1/types.go:188, v0.29.3 and v0.34.1
	nullTime bool
	// filled: an analysis step always has its analysisRunMetadata, and none has
	// clusterScope: false. pkg/apis/rollouts/v1alpha1/types.go:751 (v1.8.3), :787 (v1.9.2)
	filled bool
}

func (g Group) serialization() serialization {
	old := slices.Contains([]Group{Group17, Group180, Group183}, g)
	return serialization{nullTime: old, filled: old}
}

// Life is a Rollout over several changes of the controller's version.
type Life struct {
	Member
	at Group
	// label is how the hash in its present ReplicaSet's label was written; nil: it is
	// that of another template.
	label *serialization
	// older is how that of an older ReplicaSet with the Rollout's template was; nil:
	// there is none. olderStable: that one is the stable one.
	older       *serialization
	olderStable bool
	// excludes: the ReplicaSet's injected rule names the stable hash.
	excludes bool
	// bare: the analysis steps are stored as BareAnalysis says.
	bare bool
}

// NewLife is a Rollout that came to be under a group's release. That writes the
// whole spec with each new revision (rollout/sync.go:119, v1.8.3), and so what the
// manifest leaves out.
func NewLife(m Member, at Group) Life {
	written := at.serialization()
	return Life{Member: m, at: at, label: &written, bare: m.BareAnalysis && (m.Reapplied || !written.filled), excludes: m.Paused}
}

// Change puts another release in the controller's place, and says what it does.
func (l Life) Change(to Group) (Life, Cause) {
	from, next := l.at.serialization(), to.serialization()
	l.at = to
	c := Cause{Effect: Untouched}
	switch {
	case l.label != nil && *l.label == next:
	case l.older != nil && *l.older == next:
		c = Cause{Reverted, "the release finds an older ReplicaSet by the hash that it computes itself", to.basisOf(RuleFindByHash)}
		l.Twin = l.label == nil
		l.label, l.older, l.Paused = l.older, l.label, l.Pauses && !l.olderStable
	case l.Twin:
		c = Cause{Reverted, "the hash of every template changes, and of two ReplicaSets with the same template the older is found first", to.basisOf(RuleHash, RuleFindOldest, RuleFindEqual)}
		l.label, l.older, l.olderStable, l.Paused, l.Twin = nil, l.label, !l.Paused && l.Pauses, l.Pauses, false
	case l.Edited:
		c = Cause{Redeployed, "the hash of every template changes, and the ReplicaSet's template was edited, so that no ReplicaSet has the Rollout's", to.basisOf(RuleHash, RuleFindEqual)}
	case l.lost():
		c = Cause{Redeployed, "the hash of every template changes, and of the injected preferred anti-affinity an empty podAntiAffinity is left, which the Rollout's template does not have", to.basisOf(RuleHash, RuleRemoveAffinity, RuleFindEqual)}
	case l.AntiAffinity != AntiAffinityNone && l.Updated && !l.excludes: // a preferred one comes here where it is not lost
		c = Cause{Rewritten, "the hash of every template changes, so the injected anti-affinity is taken for an old one and made to exclude the ReplicaSet's own pods", to.basisOf(RuleHash, RuleAffinityUpdate, RuleAffinityWrite)}
		l.excludes = true
	}
	switch {
	case c.Effect == Redeployed:
		l.label, l.older, l.olderStable, l.Paused, l.Edited, l.Updated = &next, l.label, !l.Paused && l.Pauses, l.Pauses, false, true
		l.bare = l.bare && !next.filled
	case c.Effect == Reverted:
		l.bare = l.bare && !next.filled
	case c.Effect == Untouched && l.Paused && l.bare && from.filled != next.filled:
		c = Cause{Restarted, "the hash of the steps changes: an analysis step is stored without what v1.8 always writes", to.basisOf(RuleStepHash, RuleAnalysisType, RuleReset)}
	}
	return l, c
}

// lost says whether the ReplicaSet's template, without the injected rule, differs
// from the Rollout's.
func (l Life) lost() bool {
	return l.AntiAffinity == AntiAffinityPreferred && l.Updated && !l.OwnPodAntiAffinity
}

// Reapply applies the manifest once more: what it leaves out is then not stored.
func (l Life) Reapply() (Life, Cause) {
	was := l.bare
	l.bare = l.BareAnalysis
	if l.Paused && l.bare && !was && !l.at.serialization().filled {
		return l, Cause{Restarted, "the hash of the steps changes: v1.8 has stored what the manifest leaves out, and applying the manifest takes it away", l.at.basisOf(RuleStepHash, RuleAnalysisType, RuleReset)}
	}
	return l, Cause{Effect: Untouched}
}

func (g Group) basisOf(rules ...Rule) []Basis {
	out := make([]Basis, len(rules))
	for i, rule := range rules {
		out[i] = g.Basis(rule)
	}
	return out
}

// UnchangedBasis is why an untouched Rollout is: its ReplicaSet is found by its
// hash or, where another release computes another one, by its template.
func (g Group) UnchangedBasis() []Basis {
	return g.basisOf(RuleFindByHash, RuleFindEqual, RuleStepHash)
}
