package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/toolchain"
)

func artifact(component, version string, programs ...string) toolchain.Artifact {
	a := toolchain.Artifact{Component: component, Version: version}
	for _, p := range programs {
		a.Binaries = append(a.Binaries, toolchain.Binary{Name: p, Path: "/" + version + "/" + p, SHA256: component})
	}
	return a
}

func TestAClusterRunsTheControllerManagerOfItsOwnVersion(t *testing.T) {
	t.Parallel()
	const manager = "kube-controller-manager"
	for name, c := range map[string]struct {
		own                  bool
		path, digest         string
		version, ofScheduler string
	}{
		"that of Kubernetes":     {false, "/v1.37.2/" + manager, "sha256:kubernetes", "v1.37.2", "v1.37.2"},
		"one of another version": {true, "/v1.36.3/" + manager, "sha256:" + manager, "v1.36.3", "v1.37.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := Parts{
				"etcd": artifact("etcd", "v3.6.16", "etcd"), "kwok": artifact("kwok", "v0.8.0", "kwok"),
				"kubernetes": artifact("kubernetes", "v1.37.2", "kube-apiserver", manager, "kube-scheduler"),
			}
			if c.own {
				parts[manager] = artifact(manager, "v1.36.3", manager)
			}
			p, err := Embedded(t.TempDir(), parts)
			if err != nil {
				t.Fatal(err)
			}
			cfg := p.Config
			if cfg.Binaries.ControllerManager != c.path || cfg.Digests[manager] != c.digest || cfg.Versions[manager] != c.version {
				t.Errorf("controller manager %s %s %s", cfg.Binaries.ControllerManager, cfg.Digests[manager], cfg.Versions[manager])
			}
			if cfg.Versions["kube-scheduler"] != c.ofScheduler || cfg.Versions["kube-apiserver"] != "v1.37.2" {
				t.Errorf("versions %v", cfg.Versions)
			}
		})
	}
}

func TestTheHeaderNamesTheProgramsThatRan(t *testing.T) {
	t.Parallel()
	const manager = "kube-controller-manager"
	kubernetes := artifact("kubernetes", "v1.37.2", "kube-apiserver", manager, "kube-scheduler")
	for name, c := range map[string]struct {
		versions map[string]string
		parts    Parts
		want     string
	}{
		"one version of all": {map[string]string{"kubernetes": "v1.37.2"}, Parts{"kubernetes": kubernetes},
			"kubernetes v1.37.2 [kube-apiserver kube-controller-manager kube-scheduler]"},
		"a controller manager of its own": {map[string]string{"kubernetes": "v1.37.2", manager: "v1.36.3"},
			Parts{"kubernetes": kubernetes, manager: artifact(manager, "v1.36.3", manager)},
			"kubernetes v1.37.2 [kube-apiserver kube-scheduler], kube-controller-manager v1.36.3 [kube-controller-manager]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, part := range c.parts.Components(plan.Cell{Versions: c.versions}) {
				got = append(got, fmt.Sprint(part.Name, " ", part.Version, " ", slices.Sorted(maps.Keys(part.Digests))))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestWhatIsBuiltForACell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		versions map[string]string
		want     string
	}{
		"a controller manager of its own": {"", map[string]string{"kubernetes": "v1.37.2", "kube-controller-manager": "v1.36.3"}, "etcd , kwok , kubernetes v1.37.2, kube-controller-manager v1.36.3"},
		"istiod beside a cluster":         {"embedded", map[string]string{"kubernetes": "v1.37.2", "istiod": "v0.1.0"}, "etcd , kwok , traffic , kubernetes v1.37.2, istiod v0.1.0"},
		"istiod in a cluster":             {"kind", map[string]string{"kubernetes": "v1.37.2", "istiod": "v0.1.0"}, "traffic , istiod v0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range Requests(plan.Cell{Provider: c.provider, Versions: c.versions}) {
				got = append(got, r.Component+" "+r.Version)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
