package deployment

import "testing"

// BenchmarkSteps is a pass of the controller in the middle of a rollout.
func BenchmarkSteps(b *testing.B) {
	s := Spec{Replicas: 10, Surge: Percent(25), Unavailable: Percent(25), Template: "v2"}
	v := NewView(s,
		ReplicaSet{Name: "v1", Created: 1, Replicas: 8, Pods: 8, Available: 8, Desired: 10, Max: 13},
		ReplicaSet{Name: "v2", Created: 2, Replicas: 5, Pods: 5, Desired: 10, Max: 13})
	var out []Scale
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v.Sets[1].Available = i % 6
		out = AppendPass(out[:0], &v)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "passes/s")
}

// BenchmarkExplore is all rollouts with the default fenceposts.
func BenchmarkExplore(b *testing.B) {
	for _, bb := range []struct {
		name     string
		replicas int
	}{{"10", 10}, {"20", 20}, {"40", 40}} {
		b.Run(bb.name, func(b *testing.B) {
			states := 0
			for b.Loop() {
				states += Explore(Spec{Replicas: bb.replicas, Surge: Percent(25), Unavailable: Percent(25), Template: "v2"}, Chaos{}).States
			}
			b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
		})
	}
}

// BenchmarkChecker is a version of a ReplicaSet that is recorded.
func BenchmarkChecker(b *testing.B) {
	s := Spec{Replicas: 10, Surge: Percent(25), Unavailable: Percent(25), Template: "v2"}
	trace, err := Play(s, DeployAt("v2"))
	if err != nil {
		b.Fatal(err)
	}
	versions := 0
	for b.Loop() {
		c := NewChecker(s, ReplicaSet{Name: "v1", Created: 1, Replicas: 10, Pods: 10, Available: 10, Desired: 10, Max: 13})
		for _, r := range trace.Rows {
			for i, v := range r.Versions {
				e := Event{ReplicaSet: ReplicaSet{Name: v.Name, Created: int64(i), Replicas: v.Replicas, Pods: v.Pods, Available: v.Available, Desired: 10, Max: 13}}
				_ = c.Observe(e)
				versions++
			}
		}
	}
	b.ReportMetric(float64(versions)/b.Elapsed().Seconds(), "versions/s")
}
