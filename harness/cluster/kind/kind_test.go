package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// fakeEngine is a docker command that answers from a directory of containers and
// notes what it is asked.
type fakeEngine struct {
	t   *testing.T
	dir string
}

// newFakeEngine puts a docker into PATH. Tests that use it cannot run in parallel.
func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	f := &fakeEngine{t: t, dir: t.TempDir()}
	script := `#!/bin/sh
cd ` + f.dir + `
echo "$@" >> calls
case "$1" in
info) [ -e hangs ] && exec sleep 600; [ -e no-engine ] && { echo "Cannot connect" >&2; exit 1; }
	case "$*" in *json*) [ -e half-a-node ] && cp half-a-node containers; esac # kind's own question, before it makes nodes
	echo 1 ;;
version) echo 99.0 ;;
ps) case "$*" in *` + clusterLabel + `*) ls containers 2>/dev/null ;; esac ;;
inspect)
	[ -s in-the-making ] && { sed -i 1d in-the-making; echo "Error: No such object: $4" >&2; exit 1; }
	[ -e killed ] && { rm killed; kill -KILL $$; }
	cat containers/$4 2>/dev/null || { echo "Error: No such object: $4" >&2; exit 1; } ;;
run) echo memory 8000000; echo disk 50000000 ;;
rm) [ -s rm-fails ] && { sed -i 1d rm-fails; echo "the daemon is busy" >&2; exit 1; }; shift 3; for id; do rm -f containers/$id; done ;;
network) case "$2" in ls) cat network 2>/dev/null ;; rm) rm network ;; esac; true ;;
image) cat images/$5 2>/dev/null || exit 1 ;;
pull) echo "no route to host" >&2; exit 1 ;;
images) true ;;
load) cp "$3" images/loaded ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"containers", "images"} {
		if err := os.Mkdir(filepath.Join(f.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "docker")
	return f
}

// write puts a file into the engine's directory, by which it is told what to do.
func (f *fakeEngine) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// calls are all that was asked of it.
func (f *fakeEngine) calls() string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

// node adds a container of a kind cluster; mark is "" for one that is not ours.
func (f *fakeEngine) node(id, clusterName, mark string) {
	f.t.Helper()
	f.write(filepath.Join("containers", id), inspected(f.t, id, clusterName, mark))
}

// inspected is what an engine says of such a container.
func inspected(t *testing.T, id, clusterName, mark string) string {
	t.Helper()
	mounts := []map[string]string{{"Source": "/lib/modules", "Destination": "/lib/modules"}}
	if mark != "" {
		mounts = append(mounts, map[string]string{"Source": mark, "Destination": markMount})
	}
	raw, err := json.Marshal([]any{map[string]any{
		"Id": id, "Name": "/" + id, "State": map[string]any{"Running": true},
		"Config": map[string]any{"Labels": map[string]string{clusterLabel: clusterName}}, "Mounts": mounts,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (f *fakeEngine) left() []string {
	entries, err := os.ReadDir(filepath.Join(f.dir, "containers"))
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// stateOf makes a cluster's directory.
func stateOf(t *testing.T, root, name string, alive, detached bool, phase string) {
	t.Helper()
	s := &state{Name: name, Phase: phase, Detached: detached, Nodes: 1, Owner: process.Identity{PID: 1 << 30}}
	if alive {
		self, err := process.Self()
		if err != nil {
			t.Fatal(err)
		}
		s.Owner = self
	}
	if err := s.claim(root); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyMarkedNodesAreEverRemoved(t *testing.T) {
	f := newFakeEngine(t)
	root := t.TempDir()
	stateOf(t, root, "mine", true, false, phaseReady)
	f.node("mine-control-plane", "mine", layoutOf(root, "mine").mark())
	f.node("mine-stranger", "mine", "")                                    // same name, not ours
	f.node("mine-elsewhere", "mine", layoutOf(t.TempDir(), "mine").mark()) // another user's
	f.node("other-control-plane", "other", layoutOf(root, "other").mark())
	if err := Down(t.Context(), root, "mine"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"mine-elsewhere", "mine-stranger", "other-control-plane"}; !slices.Equal(f.left(), want) {
		t.Errorf("left %v, want %v", f.left(), want)
	}
	if _, err := os.Stat(layoutOf(root, "mine").dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := Down(t.Context(), root, "mine"); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestCleanRemovesWhatNobodyWillTakeDown(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all %t", all), func(t *testing.T) {
			f := newFakeEngine(t)
			root := t.TempDir()
			for _, c := range []struct {
				name            string
				alive, detached bool
				phase           string
			}{{"running", true, false, phaseReady}, {"played", false, true, phaseReady}, {"crashed", false, false, phaseReady}, {"half", false, true, phaseCreating}} {
				stateOf(t, root, c.name, c.alive, c.detached, c.phase)
				f.node(c.name+"-control-plane", c.name, layoutOf(root, c.name).mark())
			}
			f.node("lost-control-plane", "lost", layoutOf(root, "lost").mark()) // its directory is gone
			f.node("stranger", "kind", "")
			if _, err := Clean(t.Context(), root, all); err != nil {
				t.Fatal(err)
			}
			want := []string{"played-control-plane", "running-control-plane", "stranger"}
			if all {
				want = []string{"stranger"}
			}
			if !slices.Equal(f.left(), want) {
				t.Errorf("left %v, want %v", f.left(), want)
			}
			states, err := readStates(root)
			if err != nil || len(states) != len(want)-1 {
				t.Errorf("%d directories, error %v", len(states), err)
			}
		})
	}
}

// A program that was killed leaves its docker command and a node that docker lists
// before it knows it.
func TestCleanWaitsForANodeInTheMaking(t *testing.T) {
	f := newFakeEngine(t)
	root := t.TempDir()
	stateOf(t, root, "half", false, false, phaseCreating)
	mark := layoutOf(root, "half").mark()
	f.write("node", inspected(t, "half-control-plane", "half", mark))
	f.write("in-the-making", "1\n2\n")
	making := exec.Command("sh", "-c", "read go; mv node containers/half-control-plane; exit # "+mark)
	making.Dir = f.dir
	stdin, err := making.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := making.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	time.AfterFunc(2*look, func() { stdin.Close(); ended <- making.Wait() })
	removed, err := Clean(t.Context(), root, false)
	if err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(f.left()) > 0 || !slices.ContainsFunc(removed, func(r cluster.Removed) bool { return r.What == "half-control-plane" }) {
		t.Errorf("left %v, removed %v\ncalls\n%s", f.left(), removed, f.calls())
	}
}

func TestCleanWithoutAnEngineFailsOnlyIfThereIsSomethingToRemove(t *testing.T) {
	f := newFakeEngine(t)
	if err := os.WriteFile(filepath.Join(f.dir, "no-engine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, dir := range []string{root, filepath.Join(root, "never-made")} {
		if removed, err := Clean(t.Context(), dir, true); err != nil || len(removed) > 0 {
			t.Errorf("%v, %v", removed, err)
		}
	}
	stateOf(t, root, "crashed", false, false, phaseReady)
	if _, err := Clean(t.Context(), root, false); !errors.Is(err, ErrNoEngine) {
		t.Errorf("error %v, want %v", err, ErrNoEngine)
	}
	if _, err := Up(t.Context(), Config{Root: root}); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), "Cannot connect") {
		t.Errorf("error %v, want what the engine said", err)
	}
}

func TestANameThatIsTakenIsRefusedAndTheOtherClusterStays(t *testing.T) {
	f := newFakeEngine(t)
	root := t.TempDir()
	f.node("mine-control-plane", "mine", "")
	cfg, err := Config{Root: root, Options: cluster.Options{Name: "mine"}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create(t.Context(), cfg, engine{name: "docker"}, resolved{}, host{}); !errors.Is(err, ErrNameTaken) {
		t.Errorf("error %v, want %v", err, ErrNameTaken)
	}
	if len(f.left()) != 1 {
		t.Error("the stranger's node is gone")
	}
	if states, _ := readStates(root); len(states) != 0 {
		t.Errorf("left behind: %v", states)
	}
	stateOf(t, root, "ours", true, false, phaseReady)
	if err := (&state{Name: "ours"}).claim(root); !errors.Is(err, ErrNameTaken) {
		t.Errorf("error %v, want %v", err, ErrNameTaken)
	}
}

func TestTheNodeImageIsTakenFromWhereItIs(t *testing.T) {
	built := Archive{Ref: "localhost/reckon/kind-node:v1", Path: "/etc/hostname"}
	ok := func(context.Context) (Archive, error) { return built, nil }
	never := func(context.Context) (Archive, error) { return Archive{}, errors.New("no debootstrap") }
	yes := func(context.Context) bool { return true }
	for name, tt := range map[string]struct {
		image NodeImage
		has   string // image that the engine has
		want  string // reference
		says  string // in the error
	}{
		"auto, upstream is here":     {NodeImage{Build: never}, pinnedImage(""), pinnedImage(""), ""},
		"auto, built once":           {NodeImage{Build: ok, Built: yes}, built.Ref, built.Ref, ""},
		"auto, no registry":          {NodeImage{Want: "auto", Build: ok}, built.Ref, built.Ref, ""},
		"auto, nothing works":        {NodeImage{Build: never}, "", "", "no route to host"},
		"build":                      {NodeImage{Want: "build", Build: ok}, built.Ref, built.Ref, ""},
		"build, nothing to build it": {NodeImage{Want: "build"}, "", "", "nothing to build"},
		"a reference":                {NodeImage{Want: "my/node:v2"}, "my/node:v2", "my/node:v2", ""},
		"a reference, not there":     {NodeImage{Want: "my/node:v2"}, "", "", "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeEngine(t)
			if tt.has != "" {
				path := filepath.Join(f.dir, "images", tt.has)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("sha256:1"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := tt.image.resolve(t.Context(), engine{name: "docker"}, func(string) {})
			switch {
			case tt.says == "" && (err != nil || got.ref != tt.want || got.id == ""):
				t.Errorf("%+v, %v; want %s", got, err, tt.want)
			case tt.says != "" && (!errors.Is(err, ErrNoImage) || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("error %v, want %q in it", err, tt.says)
			}
		})
	}
}

func TestThePinnedImageIsNamedByDigestOrByTheVersionAskedFor(t *testing.T) {
	t.Parallel()
	if got := pinnedImage(""); !strings.Contains(got, "@sha256:") {
		t.Errorf("%s has no digest", got)
	}
	if got := pinnedImage("v1.34.2"); got != "kindest/node:v1.34.2" {
		t.Errorf("got %s", got)
	}
}

func TestFindingsSayWhatToDo(t *testing.T) {
	t.Parallel()
	good := parseProbe("caps 000001ffffffffff\ninstances 512\nwatches 524288\nfiles unlimited\nmemory 8000000\ndisk 50000000\n")
	good.cgroup = 2
	for _, f := range good.findings(3) {
		if !f.OK {
			t.Errorf("%+v", f)
		}
	}
	if good.lacksSysResource() {
		t.Error("CAP_SYS_RESOURCE is there")
	}
	poor := parseProbe("caps 000001fffeffffff\ninstances 20\nwatches 100\nfiles 1024\nmemory 100000\ndisk 100\n")
	poor.cgroup = 1
	var text strings.Builder
	fatal := 0
	for _, f := range poor.findings(3) {
		fmt.Fprintln(&text, f.OK, f.What)
		if f.Fatal {
			fatal++
		}
	}
	for _, want := range []string{"sysctl -w fs.inotify.max_user_instances=512", "sysctl -w fs.inotify.max_user_watches=524288", "default-ulimits", "failCgroupV1", "CAP_SYS_RESOURCE"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if fatal != 2 {
		t.Errorf("%d fatal findings, want memory and disk:\n%s", fatal, text.String())
	}
}

func TestPatchesFollowTheHost(t *testing.T) {
	t.Parallel()
	full := uint64(1)<<41 - 1
	for name, tt := range map[string]struct {
		host     host
		want     []string
		unwanted []string
	}{
		"cgroup v2":              {host{cgroup: 2, capabilities: full}, nil, []string{"failCgroupV1", "SystemdCgroup", "restrict_oom_score_adj"}},
		"cgroup v1":              {host{cgroup: 1, capabilities: full}, []string{"failCgroupV1: false", "SystemdCgroup = false"}, []string{"restrict_oom_score_adj"}},
		"without SYS_RESOURCE":   {host{cgroup: 2, capabilities: full &^ (1 << capSysResource)}, []string{"restrict_oom_score_adj = true"}, []string{"failCgroupV1"}},
		"v1 and no SYS_RESOURCE": {host{cgroup: 1}, []string{"failCgroupV1: false", "restrict_oom_score_adj = true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clusterConfig(Config{Root: "/r", Options: cluster.Options{Name: "c", Nodes: 3}}, tt.host, "image")
			text := strings.Join(append(c.KubeadmConfigPatches, c.ContainerdConfigPatches...), "\n")
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			for _, no := range tt.unwanted {
				if strings.Contains(text, no) {
					t.Errorf("%q in\n%s", no, text)
				}
			}
			if len(c.Nodes) != 3 || c.Nodes[0].Role != "control-plane" || c.Nodes[2].Role != "worker" || c.Nodes[2].ExtraMounts[0].HostPath != "/r/c/mark" {
				t.Errorf("nodes %+v", c.Nodes)
			}
			if !strings.Contains(text, "kind: KubeProxyConfiguration\nlogging:\n  verbosity: 4") {
				t.Errorf("kube-proxy does not say enough:\n%s", text)
			}
			if c.Networking.APIServerAddress != "127.0.0.1" {
				t.Errorf("the API server listens on %s", c.Networking.APIServerAddress)
			}
		})
	}
}

func TestEachNodeHasRoutesToTheOthersAndItsOwnRange(t *testing.T) {
	t.Parallel()
	known := map[string]corev1.Node{}
	for i, name := range []string{"a", "b", "c"} {
		known[name] = corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.244.%d.0/24", i)},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.18.0.%d", i+2)}}},
		}
	}
	script := networkScript("b", known)
	for _, want := range []string{"ip route replace 10.244.0.0/24 via 172.18.0.2\n", "ip route replace 10.244.2.0/24 via 172.18.0.4\n", "10-reckon.conflist"} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
	if strings.Contains(script, "10.244.1.0/24") {
		t.Errorf("a route to itself:\n%s", script)
	}
	conf, err := cniConfig("10.244.1.0/24")
	if err != nil || !strings.Contains(string(conf), `"subnet": "10.244.1.0/24"`) || !json.Valid(conf) {
		t.Errorf("%s, %v", conf, err)
	}
}

func TestMarksNameTheirCluster(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string]string{"/r/a/mark": "a", "/r/a-1/mark": "a-1", "/r/a": "", "/other/a/mark": "", "/r/a/b/mark": "", "/r/../x/mark": "", "": ""} {
		name, ok := markedName("/r", mark)
		if ok != (want != "") || ok && name != want {
			t.Errorf("%s: %q, %t", mark, name, ok)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no root":  {},
		"bad name": {Root: "/r", Options: cluster.Options{Name: "Not/A/Name"}},
		"long":     {Root: "/r", Options: cluster.Options{Name: strings.Repeat("a", 41)}},
		"nodes":    {Root: "/r", Options: cluster.Options{Nodes: 99}},
	} {
		if _, err := cfg.complete(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRefusalsOfTheEngineSayWhatToDo(t *testing.T) {
	t.Parallel()
	const said = `docker: Error response from daemon: OCI runtime create failed: unable to apply caps: operation not permitted: unknown

Run 'docker run --help' for more information
`
	line := lastLines(said)
	if !strings.Contains(line, "unable to apply caps") {
		t.Errorf("kept %q", line)
	}
	for text, want := range map[string]string{line: "lacks a capability", "privileged mode is not allowed": "let the engine allow", "no such image": ""} {
		if got := privilegedHint(errors.New(text)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestAFailedCommandSaysWhatPeopleCanUse(t *testing.T) {
	t.Parallel()
	err := &commandError{err: errors.New("exit status 1"), output: `I1130 02:09:45.1 123 initconfiguration.go:123] loading
[kubelet-check] The kubelet is not healthy after 4m0s

error: error execution phase wait-control-plane: could not initialize a Kubernetes cluster
k8s.io/kubernetes/cmd/kubeadm/app/cmd/phases/workflow.(*Runner).Run.func1
	k8s.io/kubernetes@v1.37.2/cmd/kubeadm/app/cmd/phases/workflow/runner.go:261
runtime.main
	runtime/proc.go:290
`}
	want := "exit status 1:\n[kubelet-check] The kubelet is not healthy after 4m0s\n" +
		"error: error execution phase wait-control-plane: could not initialize a Kubernetes cluster"
	if err.Error() != want {
		t.Errorf("got:\n%s", err)
	}
}

func TestTheProviderOffersWhatIsRealAndNothingScripted(t *testing.T) {
	t.Parallel()
	p := &Provider{}
	if missing := p.Offers().Missing(cluster.Capabilities{cluster.Kubelet, cluster.Traffic}); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
	if missing := p.Offers().Missing(cluster.Capabilities{cluster.ScriptedReadiness}); len(missing) != 1 {
		t.Error("readiness is the kubelet's")
	}
}

func TestHeadingsAreReadableInALog(t *testing.T) {
	t.Parallel()
	var got []string
	l := &logger{progress: func(s string) { got = append(got, s) }}
	l.V(0).Infof(" • %s  ...\n", "Starting control-plane 🕹️")
	l.V(0).Infof(" ✓ %s\n", "Starting control-plane 🕹️")
	l.V(1).Info(" • debug  ...\n")
	if !slices.Equal(got, []string{"Starting control-plane"}) {
		t.Errorf("%q", got)
	}
}

func TestARemovalThatFailsIsTriedOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		left       bool
	}{
		"the engine refuses once":             {"rm-fails", "1\n", false},
		"the engine refuses for good":         {"rm-fails", "1\n2\n3\n", true},
		"a signal kills the look at the node": {"killed", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeEngine(t)
			root := t.TempDir()
			stateOf(t, root, "mine", true, false, phaseReady)
			f.node("mine-control-plane", "mine", layoutOf(root, "mine").mark())
			f.write(c.file, c.text)
			cfg, err := Config{Root: root, Options: cluster.Options{Name: "mine"}}.complete()
			if err != nil {
				t.Fatal(err)
			}
			err = (&Cluster{cfg: cfg, engine: engine{name: "docker"}, lay: layoutOf(root, "mine"), done: make(chan struct{})}).Down(t.Context())
			if !c.left {
				if err != nil || len(f.left()) > 0 {
					t.Errorf("left %v, error %v", f.left(), err)
				}
				return
			}
			if cluster.LeftOf(err) == nil {
				t.Fatalf("error %v, want one that says what is left", err)
			}
			for _, want := range []string{"kind cluster mine", layoutOf(root, "mine").dir, "`reckon clean`", "mine-control-plane is not removed", "the daemon is busy", "tried twice"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if _, err := os.Stat(layoutOf(root, "mine").state()); err != nil {
				t.Errorf("clean will not find it: %v", err)
			}
		})
	}
}

func TestAStartThatFailsAndCannotBeTakenDownSaysWhatIsLeft(t *testing.T) {
	f := newFakeEngine(t)
	root := t.TempDir()
	image := filepath.Join("images", "my", "node:v1")
	if err := os.MkdirAll(filepath.Join(f.dir, filepath.Dir(image)), 0o755); err != nil {
		t.Fatal(err)
	}
	f.write(image, "sha256:1")
	f.write("half-a-node", inspected(t, "half-a-node", "mine", layoutOf(root, "mine").mark()))
	f.write("rm-fails", strings.Repeat("busy\n", 9))
	_, err := Up(t.Context(), Config{Root: root, Options: cluster.Options{Name: "mine"}, NodeImage: NodeImage{Want: "my/node:v1"}})
	if left := cluster.LeftOf(err); left == nil || !strings.Contains(left.Error(), "half-a-node is not removed") {
		t.Errorf("error %v\ncalls\n%s", err, f.calls())
	}
}

func TestAnEngineThatHangsKeepsNobody(t *testing.T) {
	f := newFakeEngine(t)
	f.write("hangs", "")
	if _, err := (engine{name: "docker"}).within(t.Context(), 50*time.Millisecond, "info"); !errors.Is(err, errNoAnswer) || !strings.Contains(err.Error(), "docker info: no answer within 50ms") {
		t.Errorf("at the limit of a command: %v", err)
	}
	stop := errors.New("stopped by a test")
	for name, ask := range map[string]func(context.Context) error{
		"looking for an engine": func(ctx context.Context) error { _, err := findEngine(ctx); return err },
		"starting a cluster":    func(ctx context.Context) error { _, err := Up(ctx, Config{Root: t.TempDir()}); return err },
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, stop)
		if err := ask(ctx); !errors.Is(err, stop) {
			t.Errorf("%s: %v, want the end of the context", name, err)
		}
		cancel()
	}
}

func TestEveryCommandHasALimitButTheWaitForANodesEnd(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"info", "version", "ps", "inspect", "image", "images", "network", "run", "rm", "rmi", "load", "pull", "another"} {
		if limit(command) <= 0 {
			t.Errorf("%s may take for ever", command)
		}
	}
	if limit("wait") != 0 {
		t.Error("a node may run for as long as it likes")
	}
}

func TestAnImageThatCannotBeHadIsNamed(t *testing.T) {
	newFakeEngine(t)
	_, err := NodeImage{Want: "my/node:v2"}.resolve(t.Context(), engine{name: "docker"}, func(string) {})
	if !errors.Is(err, ErrNoImage) || !strings.Contains(err.Error(), "my/node:v2") {
		t.Errorf("error %v, want the image in it", err)
	}
}

func TestAnOptionInThePlaceOfAnImageNeverReachesTheEngine(t *testing.T) {
	f := newFakeEngine(t)
	if _, err := Up(t.Context(), Config{Root: t.TempDir(), NodeImage: NodeImage{Want: "--privileged"}}); err == nil {
		t.Error("no error")
	}
	if strings.Contains(f.calls(), "--privileged") {
		t.Errorf("calls:\n%s", f.calls())
	}
}
