package istiodcost

import (
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/scenario"
)

func params(change func(*Params)) *Params {
	p := Scenario{}.Defaults().(*Params)
	change(p)
	return p
}

func TestEveryKeyReadsWhatItDefines(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*Params{
		"defaults":      params(func(*Params) {}),
		"no endpoints":  params(func(p *Params) { p.Endpoints = 0 }),
		"own namespace": params(func(p *Params) { p.Scope = Namespace }),
		"held back":     params(func(p *Params) { p.Limit = 512 }),
	} {
		key, err := Scenario{}.Predict(scenario.Input{Params: p})
		if err != nil {
			t.Fatal(err)
		}
		keytest.ReadsDefinedSeries(t, name, key)
		keytest.HasBasis(t, name, key)
	}
}

func TestTheLoadIsWhatAProxySees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p        *Params
		services int
		want     footprint.Load
	}{
		"all of it":                       {params(func(*Params) {}), 200, footprint.Load{Connections: 200, Endpoints: 2000, Visible: 2000}},
		"its own namespace":               {params(func(p *Params) { p.Scope = Namespace }), 200, footprint.Load{Connections: 200, Endpoints: 2000, Visible: 200}},
		"one service more in it":          {params(func(p *Params) { p.Scope, p.Endpoints = Namespace, 2005 }), 201, footprint.Load{Connections: 200, Endpoints: 2005, Visible: 205}},
		"nothing":                         {params(func(p *Params) { p.Scope, p.Endpoints = Namespace, 0 }), 0, footprint.Load{Connections: 200}},
		"fewer services than namespaces":  {params(func(p *Params) { p.Scope, p.Endpoints = Namespace, 50 }), 5, footprint.Load{Connections: 200, Endpoints: 50, Visible: 10}},
		"one service of all its endpoint": {params(func(p *Params) { p.PerService, p.Endpoints = 1000, 1000 }), 1, footprint.Load{Connections: 200, Endpoints: 1000, Visible: 1000}},
	} {
		if got := c.p.load(); got != c.want || c.p.services() != c.services {
			t.Errorf("%s: %+v with %d services, want %+v with %d", name, got, c.p.services(), c.want, c.services)
		}
	}
}

// What the script writes is what the load says.
func TestTheMeshHasTheEndpointsOfTheLoad(t *testing.T) {
	t.Parallel()
	p := params(func(p *Params) { p.Scope, p.Endpoints = Namespace, 2005 })
	seen, visible := map[string]bool{}, 0
	for i := range p.services() {
		service, slice := p.service(i), p.slice(i)
		if service.Name != slice.Labels["kubernetes.io/service-name"] || service.Namespace != slice.Namespace || len(service.Spec.Selector) > 0 {
			t.Fatalf("service %s/%s and slice %s/%s", service.Namespace, service.Name, slice.Namespace, slice.Name)
		}
		for _, e := range slice.Endpoints {
			if seen[e.Addresses[0]] || !strings.HasPrefix(e.Addresses[0], "10.64.") {
				t.Fatalf("address %s twice, or not of endpoints", e.Addresses[0])
			}
			seen[e.Addresses[0]] = true
			if slice.Namespace == proxiesNamespace {
				visible++
			}
		}
	}
	if l := p.load(); len(seen) != l.Endpoints || visible != l.Visible {
		t.Errorf("%d endpoints, %d visible, want %+v", len(seen), visible, l)
	}
}

func TestParametersWithoutMeaningAreRefused(t *testing.T) {
	t.Parallel()
	if err := (Scenario{}).Check(params(func(*Params) {}), nil); err != nil {
		t.Error(err)
	}
	err := Scenario{}.Check(params(func(p *Params) { p.Scope, p.Namespaces = Namespace, 1 }), nil)
	if err == nil || !strings.Contains(err.Error(), "scope") {
		t.Errorf("error %v", err)
	}
}

func TestTheGuardIsTheLimitOfThePod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p      *Params
		limits map[string]float64
		want   float64
	}{
		"what the chart asks for": {params(func(*Params) {}), nil, 2147.483648},
		"the parameter's":         {params(func(p *Params) { p.Limit = 512 }), nil, 536.870912},
		"the drill's":             {params(func(p *Params) { p.Limit = 512 }), map[string]float64{MemoryGuard: 300}, 300},
	} {
		key, err := Scenario{}.Predict(scenario.Input{Params: c.p, Guards: c.limits})
		if err != nil {
			t.Fatal(err)
		}
		if got := key.Guards[0].Limit; got != c.want {
			t.Errorf("%s: %g MB, want %g", name, got, c.want)
		}
	}
}

func TestAnIstiodWithAnyLimitIsHeldBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    *Params
		want bool
	}{
		"defaults":            {params(func(*Params) {}), true},
		"its own requests":    {params(func(p *Params) { p.RequestLimit = 0 }), false},
		"a limit on memory":   {params(func(p *Params) { p.Limit = 1024 }), false},
		"a limit on requests": {params(func(p *Params) { p.RequestLimit = 100 }), false},
	} {
		if got := c.p.unhindered(); got != c.want {
			t.Errorf("%s: unhindered %t", name, got)
		}
	}
}

func TestTheExpectedTimeGrowsWithTheLoad(t *testing.T) {
	t.Parallel()
	small, large := params(func(p *Params) { p.Connections = 50 }), params(func(p *Params) { p.Connections = 400; p.Endpoints = 8000 })
	if a, b := (Scenario{}).Expected(small), (Scenario{}).Expected(large); a <= 0 || b < a+large.rampTime()-small.rampTime() {
		t.Errorf("%s and %s", a, b)
	}
	if !slices.Contains(Scenario{}.Needs(small), "processes") {
		t.Error("it does not need processes")
	}
}
