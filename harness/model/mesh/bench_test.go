package mesh

import (
	"testing"
	"time"

	"reckon.dev/reckon/harness/measure"
)

// incidentPlan is the incident's size: 20 of 24 replicas leave 862 connections.
func incidentPlan(age, until time.Duration) Plan {
	return Plan{
		Connections: 862, Replicas: 24, Lifetime: Lifetime{age, WaitsForCut}, Start: Equilibrium,
		Events:       append(Leave(0, Cut(), First(20)...), Ready(Spaced(20, 20*time.Second, 20*time.Second)...)...),
		RequestLimit: RequestLimit(1), Gap: EnvoyGap, Readings: Every(time.Second, until),
	}
}

var benchmarkPlans = []struct {
	name       string
	age, until time.Duration
}{{"15m", 15 * time.Minute, 20 * time.Minute}, {"60s", time.Minute, 4 * time.Minute}}

// BenchmarkRun is one path of the incident, a reading each second.
func BenchmarkRun(b *testing.B) {
	for _, bb := range benchmarkPlans {
		b.Run(bb.name, func(b *testing.B) {
			s, err := NewSimulator(incidentPlan(bb.age, bb.until))
			if err != nil {
				b.Fatal(err)
			}
			var path Path
			s.Run(1, &path)
			b.ReportAllocs()
			begin := measure.CPU()
			connects := 0
			for seed := uint64(2); b.Loop(); seed++ {
				s.Run(seed, &path)
				connects += path.Connects
			}
			used := (measure.CPU() - begin).Seconds()
			b.ReportMetric(float64(b.N)/used, "runs/cpu-s")
			b.ReportMetric(float64(connects)/float64(b.N), "connects/run")
		})
	}
}

// BenchmarkBands is 1,000 of them and all their bands.
func BenchmarkBands(b *testing.B) {
	for _, bb := range benchmarkPlans {
		b.Run(bb.name, func(b *testing.B) {
			plan := incidentPlan(bb.age, bb.until)
			begin := measure.CPU()
			for b.Loop() {
				bands, err := Simulate(b.Context(), plan, 1000, 1)
				if err != nil {
					b.Fatal(err)
				}
				for _, m := range Metrics() {
					bands.Curve(m)
				}
				if _, err := bands.Tolerance(CoV, 0, bb.until); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((measure.CPU()-begin).Seconds()/float64(b.N), "cpu-s/1000-runs")
		})
	}
}
