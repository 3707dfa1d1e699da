package istiodmasseviction

import (
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/controlplane"
)

// Predict plays the model with nominal start times; its claims play it with the
// recorded ones.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	n, err := p.Nominal(p.events())
	if err != nil {
		return judge.Prediction{}, err
	}
	k := controlplane.NewKey(p.Fleet, in)
	typical, longest := n.OutageTexts()
	out := k.Prediction(in.Guards, n)
	out.Claims = k.Steady()
	out.Claims = append(out.Claims,
		k.Spread(StepEvict, n.SpreadText(), mesh.RulePlateau, mesh.RuleWave),
		k.Reconnects(StepEvict, n.RateText(p.Lifetime().Shortest()), mesh.RuleEcho, mesh.RuleDeadTime),
		k.Even(StepEvict, n.EvenText(), mesh.RuleHardEnd),
	)
	out.Claims = append(out.Claims, k.Outages(typical, longest)...)
	out.Claims = append(out.Claims, k.Back(p.Connections))
	if p.How == Evict && in.On.Has(cluster.Kubelet) {
		p.budget(&out)
	}
	out.Tables = append([]judge.Table{p.laws(), n.Table("the fleet after the eviction")}, p.incident()...)
	return out, nil
}

// laws are the numbers of the closed forms, for people.
func (p *Params) laws() judge.Table {
	loss := mesh.MassLoss{
		Connections: p.Connections, Replicas: p.Replicas, Lost: p.Evict, Back: p.Evict,
		ReadyAfter: p.ReplacedAfter.Std() + controlplane.Start, Lifetime: p.Lifetime(),
	}
	dead, _ := loss.DeadTime()
	over, _ := loss.Over()
	admitted := "nobody is left to ask"
	if d, ok := loss.Admission(p.Limit()); ok {
		admitted = controlplane.Seconds(d)
	}
	rate, chance := controlplane.EquilibriumRows(loss.Fleet(), "")
	return controlplane.Laws(
		rate, chance,
		[2]string{"orphans", fmt.Sprintf("%.0f of %d", loss.Orphans(), p.Connections)},
		[2]string{fmt.Sprintf("until they are admitted, at %.3g a second and replica, back-off aside", p.Limit()), admitted},
		[2]string{"CoV when the replacements are Ready, if all orphans have landed before", fmt.Sprintf("%.0f %%", 100*loss.Peak())},
		[2]string{"replicas that carry the load then", fmt.Sprintf("%.1f of %d", mesh.EffectiveReplicas(loss.Fleet().Replicas, loss.Peak()), loss.Fleet().Replicas)},
		[2]string{"nothing moves an orphan for", controlplane.Seconds(dead)},
		[2]string{"every orphan has moved after", controlplane.Seconds(over)},
		[2]string{"the echo, from the one to the other", fmt.Sprintf("%.1f 1/s", loss.WaveRate())},
	)
}
