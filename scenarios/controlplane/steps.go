package controlplane

import "reckon.dev/reckon/harness/series"

// Steps of every script.
const (
	StepDeploy  = "start istiod"
	StepConnect = "connect the proxies"
	StepSteady  = "steady"
	StepWatch   = "watch"
)

// window is the part of the run that the model is played over. A fleet that begins
// together is followed from its begin; one in equilibrium is at any time as it was
// before.
func (f Fleet) window() series.Window {
	if f.Start == Together {
		return series.Window{From: StepConnect, To: StepWatch}
	}
	return series.Window{From: StepSteady, To: StepWatch}
}
