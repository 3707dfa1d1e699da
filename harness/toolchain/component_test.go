package toolchain

import (
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestParseRequestTellsVersionsFromDirectories(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Request{
		"etcd":                         {Component: "etcd"},
		"etcd@v3.6.16":                 {Component: "etcd", Version: "v3.6.16"},
		"argo-rollouts=v1.8.2":         {Component: "argo-rollouts", Version: "v1.8.2"},
		"argo-rollouts=../my-fork":     {Component: "argo-rollouts", Dir: "../my-fork"},
		"argo-rollouts=.":              {Component: "argo-rollouts", Dir: "."},
		"argo-rollouts=forks/rollouts": {Component: "argo-rollouts", Dir: "forks/rollouts"},
		"argo-rollouts=/a/b@c":         {Component: "argo-rollouts", Dir: "/a/b@c"},
	} {
		if got, err := ParseRequest(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "@v1.0.0", "etcd@", "etcd="} {
		if got, err := ParseRequest(in); err == nil {
			t.Errorf("%q: %+v, want an error", in, got)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"etcd", "etcd@v1.0.0", "a=../b", "=@", "a=@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRequest(s)
		if err == nil && (r.Component == "" || r.Version != "" && r.Dir != "" || !strings.HasPrefix(s, r.Component)) {
			t.Errorf("%q: %+v", s, r)
		}
	})
}

func TestUnknownComponentsGetTheNearestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"argo": "did you mean \"argo-rollouts\"?", "argo-rollout": "did you mean \"argo-rollouts\"?",
		"kubernets": "did you mean \"kubernetes\"?", "kwokclt": "did you mean \"kwokctl\"?", "ectd": "did you mean \"etcd\"?",
	} {
		_, err := find(Catalogue(), name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestCatalogueIsConsistent(t *testing.T) {
	t.Parallel()
	for _, c := range Catalogue() {
		if err := checkVersion(c, c.Default); err != nil {
			t.Error(err)
		}
		if !slices.Contains(c.Known, c.Default) || !slices.IsSortedFunc(c.Known, semver.Compare) {
			t.Errorf("%s: known versions %v: want them sorted and with the default", c.Name, c.Known)
		}
		for _, p := range c.Programs {
			// With several programs the go command chooses the names.
			if len(c.Programs) > 1 && path.Base(p.Package) != p.Name {
				t.Errorf("%s: go build would call %s %s", c.Name, p.Name, path.Base(p.Package))
			}
		}
		if flags := c.ldflags(c.Default, "h1:x="); strings.ContainsAny(flags, "{}") {
			t.Errorf("%s: unfilled flags %s", c.Name, flags)
		}
	}
}

func TestTheControllerManagerAloneIsOneProgramOfTheSameModule(t *testing.T) {
	t.Parallel()
	whole, alone := kubernetes(), kubeControllerManager()
	if alone.Module != whole.Module || alone.Pin != whole.Pin || !slices.Equal(alone.LDFlags, whole.LDFlags) {
		t.Errorf("built otherwise than kubernetes: %+v", alone)
	}
	if len(alone.Programs) != 1 || !slices.Contains(whole.Programs, alone.Programs[0]) || alone.Programs[0].Name != alone.Name {
		t.Errorf("programs %+v", alone.Programs)
	}
}

func TestLinkerFlagsStateTheVersion(t *testing.T) {
	t.Parallel()
	want := "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2" +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
	if got := kubernetes().ldflags("v1.37.2", ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOfferJoinsListedAndKnownWithoutWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	listed := []string{"v1.4.1", "v1.7.2", "v1.8.5", "v1.9.0-rc1", "v1.9.0", "v1.9.3", "v1.10.2", "v1.11.0"}
	for goVer, want := range map[string]string{
		"go1.26.8":  "v1.7.1 v1.7.2 v1.8.2 v1.8.3 v1.8.5 v1.9.0 v1.9.2 v1.10.0 v1.10.1 v1.11.0",
		"go1.26.10": "v1.7.1 v1.7.2 v1.8.2 v1.8.3 v1.8.5 v1.9.0 v1.9.2 v1.9.3 v1.10.0 v1.10.1 v1.10.2 v1.11.0",
	} {
		if got := strings.Join(offer(argoRollouts(), listed, goVer), " "); got != want {
			t.Errorf("%s: %s, want %s", goVer, got, want)
		}
	}
}
