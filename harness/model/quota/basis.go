package quota

import "reckon.dev/reckon/harness/model/source"

// Tags at which the rules were read.
const (
	istioTag      = "v0.0.0-20260827124520-eed52ebb66ad"
	kubernetesTag = "v1.37.2"
	goTag         = "go1.26.8"
	linuxTag      = "v6.18.38"
)

func basis(of ...source.Basis) []string {
	out := make([]string, len(of))
	for i, b := range of {
		out[i] = b.String()
		if b.Note != "" {
			out[i] += ": " + b.Note
		}
	}
	return out
}

// ChartBasis is where the chart's GOMAXPROCS was read.
func ChartBasis() []string {
	return basis(
		source.Basis{Source: "manifests/charts/istio-control/istio-discovery/templates/deployment.yaml", Line: 227, Tag: istioTag, Note: "GOMAXPROCS from limits.cpu, divisor 1"},
		source.Basis{Source: "pkg/api/v1/resource/helpers.go", Line: 148, Tag: kubernetesTag, Note: "rounded up"})
}

// RuntimeBasis is where Go's own GOMAXPROCS was read.
func RuntimeBasis() []string {
	return basis(source.Basis{Source: "src/runtime/cgroup_linux.go", Line: 112, Tag: goTag, Note: "adjustCgroupGOMAXPROCS: rounded up, 2 at least"})
}

// ThrottleBasis is where istiod's own limits were read.
func ThrottleBasis() []string {
	return basis(
		source.Basis{Source: "pilot/pkg/features/tuning.go", Line: 55, Tag: istioTag, Note: "PushThrottle is min(15 + 5*GOMAXPROCS, 100)"},
		source.Basis{Source: "pilot/pkg/features/tuning.go", Line: 74, Tag: istioTag, Note: "and so is RequestLimit"},
		source.Basis{Source: "pilot/pkg/xds/discovery.go", Line: 607, Tag: istioTag, Note: "a stream waits a second for its turn"})
}

// PeriodBasis is where the kernel counts periods.
func PeriodBasis() []string {
	return basis(source.Basis{Source: "kernel/sched/fair.c", Line: 6292, Tag: linuxTag, Note: "do_sched_cfs_period_timer counts periods while somebody asks for time, and as throttled those at whose end somebody waits"})
}

// SliceBasis says how much of a quota can be out of reach.
func SliceBasis() []string {
	return append(PeriodBasis(), "Documentation/scheduler/sched-bwc.rst (v6.18): CPUs take the quota in slices of 5 ms, keep them over periods, and give back all but 1 ms when they are idle")
}
