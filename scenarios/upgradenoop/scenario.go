// Package upgradenoop is the scenario upgrade-noop: the Argo Rollouts controller is
// replaced by another version of it while a fleet of Rollouts lies still.
package upgradenoop

import (
	"fmt"
	"os"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/fleet"
	"reckon.dev/reckon/harness/scenario"
)

// Params are the scenario's parameters.
type Params struct {
	From   string            `json:"from" doc:"version that the fleet lives under: a release, or directory@release"`
	To     string            `json:"to" doc:"version that takes its place"`
	Back   bool              `json:"back" doc:"put the first version back in its place afterwards"`
	Fleet  string            `json:"fleet" doc:"directory with manifests of your own; empty: a generated fleet"`
	Paused bool              `json:"paused" doc:"with fleet: Rollouts that come to a pause without end stay there; otherwise all are promoted"`
	Calm   scenario.Duration `json:"calm" doc:"how long nothing may have changed before the version is"`
	Watch  scenario.Duration `json:"watch" doc:"how long the fleet is watched after each change of the version"`
	// Inventory is what was read of the fleet when the run was planned.
	Inventory *Inventory `json:"inventory,omitempty" derived:"yes"`
}

// Scenario is upgrade-noop.
type Scenario struct{}

var (
	_ scenario.Upgrader    = Scenario{}
	_ scenario.Loader      = Scenario{}
	_ scenario.Clusterwide = Scenario{}
)

func (Scenario) Name() string { return "upgrade-noop" }

func (Scenario) Summary() string {
	return "replace the controller by another version while nothing else changes: which Rollouts does that touch?"
}

// Needs: pods become ready by themselves, and are bound whatever the nodes are.
func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return []string{scenario.ArgoRollouts} }

func (Scenario) Clusterwide() bool { return true }

func (Scenario) Defaults() any {
	return &Params{From: "v1.8.3", To: "v1.9.2", Calm: scenario.Duration(3 * time.Second), Watch: scenario.Duration(20 * time.Second)}
}

// Releases are both versions, or one that is started anew.
func (Scenario) Releases(params any) map[string][]string {
	p := params.(*Params)
	return scenario.Succession(p.From, p.To)
}

// ownNamespace is where objects without a namespace go, and half of a generated fleet.
const ownNamespace = "drill"

// read reads the fleet of the parameters.
func (p *Params) read() (*fleet.Fleet, error) {
	if p.Fleet == "" {
		return generated()
	}
	return fleet.Read(os.DirFS(p.Fleet), ownNamespace)
}

// Load reads the fleet, and takes down what the prediction depends on.
func (Scenario) Load(params any) error {
	p := params.(*Params)
	f, err := p.read()
	if err != nil {
		return scenario.Refuse("fleet", "%v", err)
	}
	p.Inventory = p.inventory(f)
	return nil
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckRelease("from", p.From); err != nil {
		return err
	}
	if err := scenario.CheckRelease("to", p.To); err != nil {
		return err
	}
	if p.Paused && p.Fleet == "" {
		return scenario.Refuse("paused", "means nothing to a generated fleet, which has both")
	}
	if p.Watch.Std() < time.Second {
		return scenario.Refuse("watch", "%s is too short to see anything, expected at least 1s", p.Watch)
	}
	return nil
}

// Expected is the script's own times, and a tenth of a second or so for each Rollout
// to come to be, to be updated and to be asked again.
func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	legs := time.Duration(len(p.legs()))
	members := 0
	if p.Inventory != nil {
		members = len(p.Inventory.Members)
	}
	return 30*time.Second + legs*(p.Watch.Std()+5*time.Second) + 4*p.Calm.Std() + time.Duration(members)*300*time.Millisecond
}

func (Scenario) Guards() map[string]string {
	return map[string]string{GuardDisturbed: guardSentence, GuardLost: lostSentence}
}

// leg is one change of the controller's version.
type leg struct {
	from, to string
	// again: the version was there before.
	again bool
}

// legs are the changes in order.
func (p *Params) legs() []leg {
	out := []leg{{from: p.From, to: p.To}}
	if p.Back {
		out = append(out, leg{from: p.To, to: p.From, again: true})
	}
	return out
}

// step is the name of a step of the leg.
func (l leg) step(what string) string {
	if l.again {
		return fmt.Sprintf("%s %s again", what, l.to)
	}
	return what + " " + l.to
}
