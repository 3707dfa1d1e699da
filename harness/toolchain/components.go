package toolchain

import (
	"io/fs"

	"reckon.dev/reckon/harness"
)

// Component is one program, or one family of programs built together, that a
// drill may need. It is data: everything that is particular to a component
// stands here and nowhere else in the package.
type Component struct {
	Name    string // as users write it: argo-rollouts
	Module  string // Go module path that holds the main packages
	Default string // version built when none is asked for; its pin is committed
	Pin     string // folder below pins/ that holds the pin of Default

	// Programs are built by one go build, so that shared packages are
	// loaded and compiled once.
	Programs []Program

	// LDFlags are the linker's -X assignments, "symbol=value". Values may
	// hold {version}, {major}, {minor} and {sum} (the module's checksum).
	// They only affect linking: compiled packages stay shared between
	// components and versions.
	LDFlags []string

	// Assets are glob patterns, relative to the module's root, of files
	// kept beside the binaries, so that later runs need no module cache.
	Assets []string

	// Edits are changes to the sources that reckon cannot do without where
	// the programs run as processes of this machine.
	Edits []Edit

	// Recipe says how the component is made. Empty: compiled from its module.
	Recipe Recipe `json:",omitempty"`

	// Sources are those of a program of ours that other packages of reckon share.
	// They are written out as a module of the path Module. Nil: what own/<Name> has.
	Sources fs.FS `json:"-"`

	// Packages of Debian, for a root file system.
	Packages []string `json:",omitempty"`

	// Tags are build tags.
	Tags []string `json:",omitempty"`

	// CGO: the programs hold C code, so they need a C compiler. They are
	// linked statically, since they run on another root file system.
	CGO bool `json:",omitempty"`

	Oldest  string            // older releases do not build with today's Go
	Known   []string          // releases that were built and run
	NeedsGo map[string]string // releases that want a newer Go than most have
}

// Recipe is a way of making a component.
type Recipe string

// The recipes beside compiling a module.
const (
	RecipeOwn    Recipe = "own"         // compiled from sources that this program carries
	RecipeDebian Recipe = "debian-root" // a root file system of Debian packages
	RecipeNode   Recipe = "kind-node"   // an image, put together from other components
)

// Program is one binary of a component.
type Program struct {
	Name    string // file name of the binary
	Package string // main package, relative to the module's root; "." is the root
}

// Catalogue is every component that can be built. Each call returns a fresh
// copy.
func Catalogue() []Component {
	return append([]Component{kubernetes(), kubeControllerManager(), etcd(), kwok(), kwokctl(), argoRollouts(), istiod(), traffic()}, nodeComponents()...)
}

func kubernetes() Component {
	const v = "k8s.io/component-base/version."
	return Component{
		Name: "kubernetes", Module: "k8s.io/kubernetes", Default: "v1.37.2", Pin: "kubernetes",
		Programs: []Program{
			{Name: "kube-apiserver", Package: "cmd/kube-apiserver"},
			{Name: "kube-controller-manager", Package: "cmd/kube-controller-manager"},
			{Name: "kube-scheduler", Package: "cmd/kube-scheduler"},
		},
		LDFlags: []string{v + "gitVersion={version}", v + "gitMajor={major}", v + "gitMinor={minor}"},
		Oldest:  "v1.29.6",
		Known: []string{
			"v1.29.6", "v1.30.4", "v1.30.14", "v1.31.0", "v1.31.14", "v1.32.2", "v1.32.13",
			"v1.33.6", "v1.33.13", "v1.34.0", "v1.34.1", "v1.34.2", "v1.34.3", "v1.34.4",
			"v1.35.4", "v1.36.1", "v1.36.3", "v1.37.2",
		},
	}
}

// kubeControllerManager is apart from kubernetes for clusters whose controller
// manager is of another version: only that program is compiled.
func kubeControllerManager() Component {
	c := kubernetes()
	c.Name = "kube-controller-manager"
	c.Programs = []Program{{Name: "kube-controller-manager", Package: "cmd/kube-controller-manager"}}
	return c
}

func etcd() Component {
	return Component{
		Name: "etcd", Module: "go.etcd.io/etcd/server/v3", Default: "v3.6.16", Pin: "etcd",
		Programs: []Program{{Name: "etcd", Package: "."}},
		Oldest:   "v3.6.0",
		Known:    []string{"v3.6.16"},
	}
}

func kwok() Component {
	return Component{
		Name: "kwok", Module: "sigs.k8s.io/kwok", Default: "v0.8.0", Pin: "kwok",
		Programs: []Program{{Name: "kwok", Package: "cmd/kwok"}},
		Assets:   []string{"kustomize/crd/bases/*.yaml", "kustomize/stage/*/*/*.yaml"},
		Oldest:   "v0.6.1",
		Known:    []string{"v0.8.0"},
	}
}

// kwokctl is apart from kwok because only a benchmark wants it.
func kwokctl() Component {
	c := kwok()
	c.Name, c.Programs, c.Assets = "kwokctl", []Program{{Name: "kwokctl", Package: "cmd/kwokctl"}}, nil
	return c
}

func argoRollouts() Component {
	const v = "github.com/argoproj/argo-rollouts/utils/version."
	return Component{
		Name: "argo-rollouts", Module: "github.com/argoproj/argo-rollouts", Default: "v1.8.2", Pin: "argo-rollouts",
		Programs: []Program{{Name: "rollouts-controller", Package: "cmd/rollouts-controller"}},
		// The controller prints its tag only if commit and a clean tree
		// are stated too. The module's checksum is the honest stand-in for
		// the commit: it identifies the sources.
		LDFlags: []string{v + "gitTag={version}", v + "gitCommit={sum}", v + "gitTreeState=clean"},
		Assets:  []string{"manifests/crds/*-crd.yaml", "manifests/namespace-install.yaml", "test/e2e/crds/istio.yaml"},
		// A constant, and no flag for it: controller/controller.go:101 (v1.8.2).
		Edits: []Edit{{
			File: "controller/controller.go", Old: `"0.0.0.0:%d"`, New: `"127.0.0.1:%d"`,
			Why: "makes health and metrics listen on loopback only",
		}},
		Oldest:  "v1.7.1",
		Known:   []string{"v1.7.1", "v1.7.2", "v1.8.2", "v1.8.3", "v1.8.5", "v1.9.0", "v1.9.2", "v1.10.0", "v1.10.1"},
		NeedsGo: map[string]string{"v1.9.3": "1.26.10", "v1.10.2": "1.26.10"},
	}
}

// istiod's releases are tagged outside of what Go calls versions, so its module
// is only served by commit: these are of what became 1.31.
func istiod() Component {
	const v = "istio.io/istio/pkg/version."
	return Component{
		Name: "istiod", Module: "istio.io/istio", Default: "v0.0.0-20260827124520-eed52ebb66ad", Pin: "istiod",
		Programs: []Program{{Name: "pilot-discovery", Package: "pilot/cmd/pilot-discovery"}},
		// What upstream builds with: STANDARD_TAGS, Makefile.core.mk:237.
		Tags:    []string{"vtprotobuf", "disable_pgv"},
		LDFlags: []string{v + "buildVersion={version}", v + "buildTag={version}"},
		Assets: []string{
			charts + "/base/*.yaml", charts + "/base/files/*", charts + "/base/templates/*",
			charts + "/istio-control/istio-discovery/*.yaml", charts + "/istio-control/istio-discovery/files/*", charts + "/istio-control/istio-discovery/templates/*",
		},
		Oldest: "v0.0.0-20260423205519-b01690e6db7d",
		Known:  []string{"v0.0.0-20260423205519-b01690e6db7d", "v0.0.0-20260826214018-9739e10eb9d7", "v0.0.0-20260827124520-eed52ebb66ad"},
	}
}

// charts is where Istio's module keeps its Helm charts.
const charts = "manifests/charts"

// traffic is the workload and the client of drills with traffic. Its module is
// the part of reckon below harness, of which it has the packages it imports. The
// versions of other modules are reckon's own.
func traffic() Component {
	return Component{
		Name: "traffic", Module: "reckon.dev/reckon/harness", Default: "v1.0.0", Pin: "traffic", Recipe: RecipeOwn,
		Programs: []Program{{Name: "reckon-traffic", Package: "traffic/reckon-traffic"}},
		Sources:  harness.Sources(),
		Known:    []string{"v1.0.0"},
	}
}
