package upgradenoop

import (
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/model/rollouts"
)

// TestManifestsAsTheyAreInRepositories: Helm's and Kustomize's output, exported
// lists, several documents in a file.
func TestManifestsAsTheyAreInRepositories(t *testing.T) {
	t.Parallel()
	p := planned(t, func(p *Params) { p.Fleet = "testdata/fleet" })
	f, err := p.read()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Rollouts) + len(f.Others); n < 30 {
		t.Errorf("only %d objects are loaded", n)
	}
	if len(f.Problems)+len(f.Unknown) > 0 {
		t.Errorf("problems %v, unknown %v", f.Problems, f.Unknown)
	}
	got := map[string]Member{}
	for _, m := range p.Inventory.Members {
		got[m.Key()] = m
	}
	for key, want := range map[string]struct {
		member   rollouts.Member
		features string
		scaled   bool
	}{
		"shop/checkout":          {rollouts.Member{Updated: true, Pauses: true, OwnPodAntiAffinity: true}, "own podAntiAffinity, nginx", true},
		"shop/payments":          {rollouts.Member{Updated: true, Pauses: true, AntiAffinity: rollouts.AntiAffinityPreferred}, "preferred anti-affinity", false},
		"catalog/catalog-api":    {rollouts.Member{Updated: true, Pauses: true, AntiAffinity: rollouts.AntiAffinityRequired}, "required anti-affinity", true},
		"catalog/catalog-worker": {rollouts.Member{Updated: true}, "workloadRef", false},
		"web/storefront":         {rollouts.Member{Updated: true, Pauses: true}, "istio, managed routes", false},
		"web/assets":             {rollouts.Member{Updated: true}, "istio, metadata, dynamicStableScale", false},
		"search/search":          {rollouts.Member{Updated: true, Pauses: true, BareAnalysis: true}, "inline analysis", false},
		"search/suggest":         {rollouts.Member{Updated: true, AntiAffinity: rollouts.AntiAffinityPreferred}, "preferred anti-affinity", false},
		"media/media":            {rollouts.Member{Updated: true}, "metadata, analysis", false},
		"media/thumbnails":       {rollouts.Member{}, "spec.paused", false},
		"media/archive":          {rollouts.Member{Updated: true}, "", false},
		"finance/ledger":         {rollouts.Member{Updated: true, Pauses: true}, "inline analysis", false},
		"finance/reports":        {rollouts.Member{Updated: true}, "", false},
	} {
		m, there := got[key]
		if !there {
			t.Errorf("%s is missing", key)
			continue
		}
		if features := strings.Join(m.Features, ", "); m.Member != want.member || features != want.features || m.Scaled != want.scaled || m.Doubt != "" {
			t.Errorf("%s: %+v", key, m)
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%s is not expected", key)
	}
}

func TestAFleetInTheMiddleOfUpdatesIsPausedWhereItCanBe(t *testing.T) {
	t.Parallel()
	p := planned(t, func(p *Params) { p.Fleet, p.Paused = "testdata/fleet", true })
	var paused []string
	for _, m := range p.Inventory.Members {
		if m.Paused {
			paused = append(paused, m.Key())
		}
	}
	slices.Sort(paused)
	if want := []string{"catalog/catalog-api", "finance/ledger", "search/search", "shop/checkout", "shop/payments", "web/storefront"}; !slices.Equal(paused, want) {
		t.Errorf("paused %q, want %q", paused, want)
	}
}
