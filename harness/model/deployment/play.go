package deployment

import "fmt"

// A Move is something that happens to a Deployment that has come to rest.
type Move func(*Machine)

// DeployAt applies another version whose pods all become available, one by one.
func DeployAt(version string) Move { return DeployLimited(version, All) }

// DeployLimited applies another version of which at most ready pods ever become
// available. With less than all, the rollout stalls.
func DeployLimited(version string, ready int) Move {
	return func(m *Machine) {
		m.Limit(version, ready)
		m.Deploy(version)
	}
}

// ScaleTo changes spec.replicas.
func ScaleTo(replicas int) Move { return func(m *Machine) { m.Scale(replicas) } }

// Recover lifts the limit on a version.
func Recover(version string) Move { return func(m *Machine) { m.Limit(version, All) } }

// First is the version that Play starts with, complete and available.
const First = "v1"

// settleLimit is far above what any rollout needs: each pod is written and becomes
// available once or twice.
func settleLimit(spec Spec) int { return 1000 + 100*spec.Most() }

// Play is the canonical trace of a Deployment whose version First is up: each move, and
// then both controllers until nothing changes. Where a rollout stalls, the last row has
// the exact counts at which it does.
func Play(spec Spec, moves ...Move) (Trace, error) {
	if err := spec.Validate(); err != nil {
		return Trace{}, err
	}
	m := NewMachine(spec)
	m.Deploy(First)
	moves = append([]Move{(*Machine).ResetTrace}, moves...)
	m.Settle(settleLimit(spec))
	for _, move := range moves {
		move(m)
		if limit := settleLimit(m.spec); m.Settle(limit) == limit {
			return m.Trace(), fmt.Errorf("not settled after %d steps", limit)
		}
	}
	return m.Trace(), nil
}
