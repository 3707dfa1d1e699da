package workload_test

import (
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// TestCostOfAnUpdate: at 100 requests a second that take 20 ms, and pods that
// start up in 2 s.
func TestCostOfAnUpdate(t *testing.T) {
	t.Parallel()
	type deploy = workload.Deployment
	type serve = workload.Serving
	seconds := func(n float64) scenario.Duration { return scenario.Duration(n * float64(time.Second)) }
	noSurge := func(d *deploy) { d.MaxSurge, d.MaxUnavailable = deployment.Int(0), deployment.Int(1) }
	for name, c := range map[string]struct {
		change      func(d *deploy, s *serve)
		startup     time.Duration // 2 s if 0
		least, most int64
		outage      time.Duration
		because     string
	}{
		"drain": {func(*deploy, *serve) {}, 0, 0, 202, 0, "still led to"},
		"exit":  {func(_ *deploy, s *serve) { s.Shutdown = stage.Exit }, 0, 0, 202, 0, "still led to"},
		"kube-proxy has nothing to wait for after minReadySeconds": {func(d *deploy, _ *serve) { d.MinReadySeconds = 3 }, 0, 0, 102, 0, "still led to"},
		"its second is not over after a short one":                 {func(d *deploy, _ *serve) { d.MinReadySeconds = 2 }, 0, 0, 202, 0, "still led to"},
		"preStop as long as requests may be led to it":             {func(_ *deploy, s *serve) { s.PreStop = seconds(2) }, 0, 0, 0, 0, "no request is lost"},
		"preStop as long, and then what is under way is cut":       {func(_ *deploy, s *serve) { s.PreStop, s.Shutdown = seconds(2), stage.Exit }, 0, 0, 202, 0, "still led to"},
		"preStop longer, and exit":                                 {func(_ *deploy, s *serve) { s.PreStop, s.Shutdown = seconds(3), stage.Exit }, 0, 0, 0, 0, "no request is lost"},
		"linger as long":                                           {func(d *deploy, _ *serve) { d.Linger = seconds(2) }, 0, 0, 0, 0, "no request is lost"},
		"both together":                                            {func(d *deploy, s *serve) { d.Linger, s.PreStop = seconds(1), seconds(1) }, 0, 0, 0, 0, "no request is lost"},
		"preStop that is too short":                                {func(_ *deploy, s *serve) { s.PreStop = seconds(1) }, 0, 0, 202, 0, "still led to"},
		"requests take long":                                       {func(_ *deploy, s *serve) { s.Work = seconds(0.4) }, 0, 0, 240, 0, "still led to"},
		"four pods, one of them at a time missing":                 {func(d *deploy, _ *serve) { d.Replicas = 4 }, 0, 0, 269, 0, "each pod its part"},
		"four pods, none missing":                                  {func(d *deploy, _ *serve) { d.Replicas, d.MaxUnavailable = 4, deployment.Int(0) }, 0, 0, 202, 0, "each pod its part"},

		"no surge":                      {func(d *deploy, _ *serve) { noSurge(d) }, 0, 100, 2402, time.Second, "answer until SIGTERM"},
		"no surge, exit":                {func(d *deploy, s *serve) { noSurge(d); s.Shutdown = stage.Exit }, 0, 101, 2402, time.Second, "answer until SIGTERM"},
		"no surge, slow start":          {func(d *deploy, _ *serve) { noSurge(d) }, 10 * time.Second, 900, 3202, 9 * time.Second, "answer until SIGTERM"},
		"no surge, preStop may do":      {func(d *deploy, s *serve) { noSurge(d); s.PreStop = seconds(3) }, 0, 0, 2102, 0, "answer until SIGTERM"},
		"no surge, preStop surely does": {func(d *deploy, s *serve) { noSurge(d); s.PreStop = seconds(25) }, 0, 0, 0, 0, "answer until SIGTERM"},
		"all may be missing at once":    {func(d *deploy, _ *serve) { d.Replicas, d.MaxUnavailable = 4, deployment.Percent(100) }, 0, 100, 2402, time.Second, "answer until SIGTERM"},

		"Recreate":                    {func(d *deploy, _ *serve) { d.Strategy = workload.Recreate }, 0, 200, 2600, 2 * time.Second, "when the old ones have ended"},
		"Recreate, exit":              {func(d *deploy, s *serve) { d.Strategy, s.Shutdown = workload.Recreate, stage.Exit }, 0, 201, 2600, 2 * time.Second, "when the old ones have ended"},
		"Recreate, preStop helps not": {func(d *deploy, s *serve) { d.Strategy, s.PreStop = workload.Recreate, seconds(30) }, 0, 200, 2600, 2 * time.Second, "when the old ones have ended"},
	} {
		d, s := workload.DefaultDeployment(1), workload.DefaultServing()
		c.change(&d, &s)
		startup := c.startup
		if startup == 0 {
			startup = 2 * time.Second
		}
		got := s.Cost(d, startup)
		if got.Least != c.least || got.Most != c.most || got.Outage != c.outage {
			t.Errorf("%s: %d to %d lost, outage %s; want %d to %d, %s", name, got.Least, got.Most, got.Outage, c.least, c.most, c.outage)
		}
		if !strings.Contains(got.Why, c.because) {
			t.Errorf("%s: %q does not say %q", name, got.Why, c.because)
		}
	}
}
