package upgradenoop

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/fleet"
	"reckon.dev/reckon/harness/model/rollouts"
)

// Inventory is what of a fleet a prediction depends on.
type Inventory struct {
	// Digest identifies the manifests: a run refuses others than were planned.
	Digest  string   `json:"digest"`
	Members []Member `json:"members"`
	// Problems, Unknown and LeftOut are what is not part of the run, with its place.
	Problems []fleet.Remark `json:"problems,omitempty"`
	Unknown  []fleet.Remark `json:"unknown,omitempty"`
	LeftOut  int            `json:"leftOut,omitempty"`
}

// Member is one Rollout.
type Member struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Place     string `json:"place"`
	Strategy  string `json:"strategy"`
	// Features are what is particular about it, for people.
	Features []string `json:"features,omitempty"`
	// Routes are the objects that its traffic goes by: "services/shop/cart".
	Routes []string `json:"routes,omitempty"`
	// Scaled: an autoscaler sizes it.
	Scaled bool `json:"scaled,omitempty"`
	// Doubt is why it cannot come to rest here, "" if it can.
	Doubt string `json:"doubt,omitempty"`
	rollouts.Member
}

// Key is "namespace/name".
func (m Member) Key() string { return m.Namespace + "/" + m.Name }

// inventory takes down the fleet.
func (p *Params) inventory(f *fleet.Fleet) *Inventory {
	out := &Inventory{Digest: f.Digest, Problems: f.Problems, Unknown: f.Unknown, LeftOut: len(f.LeftOut)}
	scaled := f.Scaled()
	for _, ro := range f.Rollouts {
		m := memberOf(ro)
		m.Scaled = slices.Contains(scaled, m.Key())
		m.Doubt = doubt(ro, f)
		p.fate(ro).befall(&m)
		if frozen(ro) {
			m.Updated, m.Paused = false, false
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// frozen: spec.paused keeps the controller from updating it.
func frozen(ro fleet.Object) bool {
	paused, _ := fleet.Mapping(ro.Object, "spec")["paused"].(bool)
	return paused
}

// foreign are routers whose own CRDs are not here.
var foreign = []string{"ambassador", "apisix", "appMesh", "plugins", "smi", "traefik"}

// doubt says why a Rollout cannot come to rest here.
func doubt(ro fleet.Object, f *fleet.Fleet) string {
	for _, router := range fleet.Routers(ro) {
		if slices.Contains(foreign, router) {
			return "its traffic router is " + router + ", which is not here"
		}
	}
	for _, p := range f.Problems {
		if rest, ok := strings.CutPrefix(p.Text, ro.String()+" refers to "); ok && p.Place == ro.Place() {
			return "it refers to " + rest
		}
	}
	return ""
}

// memberOf reads a manifest.
func memberOf(ro fleet.Object) Member {
	m := Member{Namespace: ro.GetNamespace(), Name: ro.GetName(), Place: ro.Place(), Strategy: "canary"}
	strategy := fleet.Mapping(ro.Object, "spec", "strategy", "canary")
	if blue := fleet.Mapping(ro.Object, "spec", "strategy", "blueGreen"); blue != nil {
		m.Strategy, strategy = "blueGreen", blue
		auto, set := blue["autoPromotionEnabled"].(bool)
		m.Pauses = set && !auto && blue["prePromotionAnalysis"] == nil && blue["autoPromotionSeconds"] == nil
	} else {
		m.Pauses = comesToPause(strategy)
		m.BareAnalysis = bare(strategy)
	}
	m.AntiAffinity = antiAffinity(strategy)
	m.OwnPodAntiAffinity = fleet.Mapping(ro.Object, "spec", "template", "spec", "affinity", "podAntiAffinity") != nil
	for _, ref := range fleet.References(ro) {
		if resource, ok := routing[ref.Kind]; ok {
			m.Routes = append(m.Routes, resource+"/"+ref.Namespace+"/"+ref.Name)
		}
	}
	m.Features = features(ro, m, strategy)
	return m
}

// routing are the series of the kinds of objects that traffic goes by.
var routing = map[string]string{"Service": seriesSelector, "VirtualService": seriesRoutes, "DestinationRule": seriesSubsets}

func antiAffinity(strategy map[string]any) rollouts.AntiAffinity {
	switch rule := fleet.Mapping(strategy, "antiAffinity"); {
	case rule["preferredDuringSchedulingIgnoredDuringExecution"] != nil:
		return rollouts.AntiAffinityPreferred
	case rule["requiredDuringSchedulingIgnoredDuringExecution"] != nil:
		return rollouts.AntiAffinityRequired
	}
	return rollouts.AntiAffinityNone
}

// longestPause is the longest timed pause that is waited for, in seconds.
const longestPause = 10

// comesToPause says whether an update surely stops at a pause without end before
// anything else holds it up: an analysis has nobody to ask here.
func comesToPause(canary map[string]any) bool {
	if canary["analysis"] != nil {
		return false
	}
	for _, step := range fleet.Items(canary, "steps") {
		switch _, paused := step["pause"]; {
		case step["analysis"] != nil || step["experiment"] != nil || step["plugin"] != nil:
			return false
		case !paused:
		case fleet.Mapping(step, "pause")["duration"] == nil:
			return true
		case !brief(fleet.Mapping(step, "pause")["duration"]):
			return false
		}
	}
	return false
}

// brief says whether a pause is short enough to be waited for.
func brief(duration any) bool {
	switch d := duration.(type) {
	case int64:
		return d <= longestPause
	case string:
		seconds, err := parseSeconds(d)
		return err == nil && seconds <= longestPause
	}
	return false
}

// bare says whether an analysis step is written without what v1.8 adds.
func bare(canary map[string]any) bool {
	for _, step := range fleet.Items(canary, "steps") {
		analysis := fleet.Mapping(step, "analysis")
		if analysis == nil {
			continue
		}
		if _, there := analysis["analysisRunMetadata"]; !there {
			return true
		}
		for _, template := range fleet.Items(analysis, "templates") {
			if scope, set := template["clusterScope"].(bool); set && !scope {
				return true
			}
		}
	}
	return false
}

// features are what is particular about a Rollout.
func features(ro fleet.Object, m Member, strategy map[string]any) []string {
	var out []string
	add := func(there bool, text string) {
		if there {
			out = append(out, text)
		}
	}
	add(m.AntiAffinity != "", string(m.AntiAffinity)+" anti-affinity")
	add(m.OwnPodAntiAffinity, "own podAntiAffinity")
	for _, router := range fleet.Routers(ro) {
		add(true, router)
	}
	add(fleet.Mapping(strategy, "trafficRouting")["managedRoutes"] != nil, "managed routes")
	add(strategy["canaryMetadata"] != nil || strategy["previewMetadata"] != nil, "metadata")
	add(strategy["analysis"] != nil || strategy["prePromotionAnalysis"] != nil || strategy["postPromotionAnalysis"] != nil, "analysis")
	inline, experiment := false, false
	for _, step := range fleet.Items(strategy, "steps") {
		inline, experiment = inline || step["analysis"] != nil, experiment || step["experiment"] != nil
	}
	add(inline, "inline analysis")
	add(experiment, "experiment")
	add(fleet.Mapping(ro.Object, "spec", "workloadRef") != nil, "workloadRef")
	add(strategy["dynamicStableScale"] == true, "dynamicStableScale")
	add(frozen(ro), "spec.paused")
	return out
}

// parseSeconds reads a pause as the controller does: a number of seconds, or a
// duration (pkg/apis/rollouts/v1alpha1/types.go, DurationSeconds, v1.8.3).
func parseSeconds(text string) (float64, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return float64(n), nil
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err
}

// frozen: spec.paused is set.
func (m Member) frozen() bool { return slices.Contains(m.Features, "spec.paused") }
