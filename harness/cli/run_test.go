//go:build linux

package cli_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reckon.dev/reckon/harness/judge"
)

// An interrupt ends the command with everything taken down, whatever it is at.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, at string
		signals  []syscall.Signal
		args     []string
	}{
		{name: "while it builds", at: "build etcd", args: []string{"--cache", "EMPTY"}},
		{name: "while the cluster starts", at: ": starting a cluster"},
		{name: "while CRDs are installed", at: ": installing the CRDs"},
		{name: "while the controller starts", at: ": starting Argo Rollouts"},
		{name: "during the set-up", at: ": deploy v1"},
		{name: "by SIGTERM during the upgrade", at: ": upgrade to v2", signals: []syscall.Signal{syscall.SIGTERM}},
		{name: "by a hang-up while v1 goes", at: ": wait for v1 to be gone", signals: []syscall.Signal{syscall.SIGHUP}},
		{name: "thrice during the ramp", at: ": pods become ready", signals: []syscall.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGINT}},
		{name: "while nothing may happen", at: ": quiet"},
		{name: "during the tear-down", at: ": removing the cluster"},
		{name: "with two runs under way", at: ": deploy v1", args: []string{"--repeat", "3", "--parallel", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			args := slices.Clone(c.args)
			for i := range args {
				if args[i] == "EMPTY" {
					args[i] = t.TempDir()
				}
			}
			cmd := p.run(small(args...)...)
			cmd.await(c.at)
			ports := p.ports()
			if c.signals == nil {
				c.signals = []syscall.Signal{syscall.SIGINT}
			}
			for _, s := range c.signals {
				cmd.signal(s)
			}
			cmd.exits(5)
			p.nothingLeft(ports)
		})
	}
}

// Whoever reads the progress may go away: the run goes on to its end.
func TestProgressThatNobodyReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.run(small("--set", "replicas=0", "--set", "minPodsPerReplicaSet=0")...)
	cmd.await(": starting a cluster")
	if err := cmd.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	cmd.exits(0)
	wantVerdict(t, p.runDirs()[0], judge.Pass)
	p.nothingLeft(nil)
}

// A killed reckon takes its processes along; the directory is for clean.
func TestKillIsCleanedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   func(*command)
	}{
		{"while the cluster starts", func(cmd *command) {
			cmd.await(": starting a cluster")
			eventually(cmd.t, "a process of the cluster", func() bool { return len(cmd.processes()) > 0 })
		}},
		{"during the ramp", func(cmd *command) { cmd.await(": pods become ready") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			cmd := p.run(small()...)
			c.at(cmd)
			ports := p.ports()
			if err := cmd.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.exits(-1)
			eventually(t, "no process is left", func() bool { return len(p.processes()) == 0 })
			dir := p.runDirs()[0]
			if _, err := os.Stat(filepath.Join(dir, "verdict.json")); err == nil {
				t.Error("a killed run has a verdict")
			}

			first := p.start("clean")
			first.exits(0)
			if !strings.Contains(first.stdout.String(), "removed directory of cluster") {
				t.Errorf("clean: %q", first.stdout.String())
			}
			p.nothingLeft(ports)
			second := p.start("clean")
			second.exits(0)
			if second.stdout.String() != "nothing to remove\n" {
				t.Errorf("second clean: %q", second.stdout.String())
			}
			again := p.start("judge", dir)
			again.exits(4)
			if !strings.Contains(again.errors(), "refused") {
				t.Errorf("a killed run is judged: %s%s", again.stdout.String(), again.errors())
			}
		})
	}
}

// A controller that somebody kills makes the run invalid, never green.
func TestKilledControllerIsInvalid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.run(small("--set", "quiet=1m")...)
	cmd.await(": pods become ready")
	for _, stray := range p.processes() {
		if stray.Mark.Name == "argo-rollouts" {
			if err := stray.Identity.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.exits(4)
	v := wantVerdict(t, p.runDirs()[0], judge.Invalid)
	for _, want := range []string{"argo-rollouts", "signal: killed", "lines of logs/argo-rollouts.log", `"level":"info"`} {
		if !strings.Contains(strings.Join(v.Reasons, "\n"), want) {
			t.Errorf("no %q in the reasons: %v", want, v.Reasons)
		}
	}
	if !strings.Contains(cmd.stdout.String(), "INVALID") || strings.Contains(cmd.stdout.String(), "PASS") {
		t.Errorf("standard output:\n%s", cmd.stdout.String())
	}
	p.nothingLeft(nil)
}

// A full disk makes the run invalid and says so.
func TestFullDiskIsInvalid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := syscall.Mount("tmpfs", p.results, "tmpfs", 0, "size=24k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.results, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	cmd := p.run(small()...)
	cmd.exits(4)
	all := cmd.stdout.String() + cmd.errors()
	for _, want := range []string{"no space left on device", filepath.Join(p.results, "runs"), "INVALID"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	p.nothingLeft(nil)
}

// Two commands at the same instant share results and nothing else.
func TestTwoCommandsSideBySide(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a, b := p.run(small()...), p.run(small()...)
	a.await(": upgrade to v2")
	b.await(": upgrade to v2")
	t.Run("listens on loopback only", func(t *testing.T) { wantLoopback(t, p) })
	t.Run("etcd wants a certificate", func(t *testing.T) { wantRefusal(t, fmt.Sprintf("https://127.0.0.1:%d/version", p.ports()["etcd"])) })
	t.Run("the API server wants one too", func(t *testing.T) {
		wantRefusal(t, fmt.Sprintf("https://127.0.0.1:%d/api/v1/namespaces", p.ports()["kube-apiserver"]))
	})
	t.Run("files are private", func(t *testing.T) { wantPrivate(t, p) })
	a.exits(0)
	b.exits(0)
	dirs := p.runDirs()
	if len(dirs) != 2 {
		t.Errorf("run directories: %v", dirs)
	}
	for _, dir := range dirs {
		wantVerdict(t, dir, judge.Pass)
	}
	latest, err := filepath.EvalSymlinks(filepath.Join(p.results, "runs", "latest"))
	if err != nil || !slices.ContainsFunc(dirs, func(d string) bool { return filepath.Base(d) == filepath.Base(latest) }) {
		t.Errorf("latest: %q, %v", latest, err)
	}
	p.nothingLeft(nil)
}

func wantVerdict(t *testing.T, dir string, want judge.Outcome) judge.Verdict {
	t.Helper()
	var v judge.Verdict
	raw, err := os.ReadFile(filepath.Join(dir, "verdict.json"))
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil || v.Outcome != want {
		t.Errorf("%s: %s, %v, want %s: %v", dir, v.Outcome, err, want, v.Reasons)
	}
	return v
}

// listening matches a socket in state LISTEN in /proc/net/tcp and tcp6: address, inode.
var listening = regexp.MustCompile(`(?m)^ *\d+: ([0-9A-F]+):[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4} 0A (?:\S+ +){5}(\d+)`)

// loopbacks are 127.0.0.1 and ::1, and 127.0.0.1 in a socket of both kinds, as the kernel writes them.
var loopbacks = []string{"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}

func wantLoopback(t *testing.T, p *place) {
	addresses := map[string]string{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range listening.FindAllStringSubmatch(string(raw), -1) {
			addresses["socket:["+m[2]+"]"] = m[1]
		}
	}
	listeners := map[string]int{}
	for _, stray := range p.processes() {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", stray.Identity.PID))
		for _, fd := range fds {
			target, _ := os.Readlink(fd)
			address, ok := addresses[target]
			if !ok {
				continue
			}
			listeners[stray.Mark.Name]++
			if !slices.Contains(loopbacks, address) {
				t.Errorf("%s listens on %s", stray.Mark.Name, address)
			}
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "argo-rollouts"} {
		if listeners[name] == 0 {
			t.Errorf("no listening socket of %s found among %v", name, listeners)
		}
	}
}

// wantRefusal asks without a certificate.
func wantRefusal(t *testing.T, url string) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s answers %s", url, resp.Status)
	}
}

func wantPrivate(t *testing.T, p *place) {
	files, err := filepath.Glob(filepath.Join(p.clusters, "*", "*kubeconfig*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("kubeconfigs: %v, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.IsDir() && info.Mode().Perm() != 0o600 || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// drill writes a drill file with four cells, quick ones.
func drill(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "drill.yaml")
	text := `apiVersion: reckon/v1
kind: Drill
metadata: {name: few}
spec:
  cluster: {provider: embedded}
  scenarios:
  - name: rollback-window
    params: {minPodsPerReplicaSet: 0, ramp: 200ms, quiet: 1s}
    matrix: {argo-rollouts: [v1.8.2, v1.7.2], replicas: [0, 1]}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilterOfVersions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.run(drill(t), "--sem-ver-filter", "argo-rollouts=1.8.2", "--parallel", "2", "-o", "json")
	cmd.exits(0)
	var out struct {
		ExitCode *int            `json:"exitCode"`
		Runs     []judge.Verdict `json:"runs"`
	}
	decoder := json.NewDecoder(strings.NewReader(cmd.stdout.String()))
	if err := decoder.Decode(&out); err != nil || decoder.More() {
		t.Fatalf("standard output is not one JSON document: %v\n%s", err, cmd.stdout.String())
	}
	if len(out.Runs) != 2 || out.ExitCode == nil || *out.ExitCode != 0 {
		t.Fatalf("%d runs, exit code %v\n%s", len(out.Runs), out.ExitCode, cmd.stdout.String())
	}
	for _, v := range out.Runs {
		if v.Outcome != judge.Pass || !strings.Contains(v.Cell, "argo-rollouts=v1.8.2") {
			t.Errorf("%s: %s: %v", v.Cell, v.Outcome, v.Reasons)
		}
	}
	p.nothingLeft(nil)
}

func TestFilterThatLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, filter := range [][]string{
		{"--label-filter", "no-such-label"},
		{"--sem-ver-filter", "argo-rollouts=9.9.9"},
	} {
		t.Run(filter[0], func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			cmd := p.run(append([]string{drill(t)}, filter...)...)
			cmd.exits(2)
			if !strings.Contains(cmd.errors(), filter[1]) || cmd.stdout.Len() > 0 {
				t.Errorf("stdout %q, stderr %q", cmd.stdout.String(), cmd.errors())
			}
			p.nothingLeft(nil)
		})
	}
}

func TestRepetitions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	junit := filepath.Join(t.TempDir(), "junit.xml")
	cmd := p.run(small("--repeat", "2", "--parallel", "2", "--ginkgo", "--junit", junit)...)
	cmd.exits(0)
	first, second := strings.Index(cmd.stdout.String(), "repetition 1"), strings.Index(cmd.stdout.String(), "repetition 2")
	if first < 0 || second < first {
		t.Errorf("standard output has not both verdicts in order:\n%s", cmd.stdout.String())
	}
	if strings.Contains(cmd.stdout.String(), "Ginkgo") || !strings.Contains(cmd.errors(), "1/1 specs") {
		t.Errorf("Ginkgo's own output belongs on standard error:\n%s\n%s", cmd.stdout.String(), cmd.errors())
	}
	var repetitions []int
	for _, dir := range p.runDirs() {
		repetitions = append(repetitions, wantVerdict(t, dir, judge.Pass).Repetition)
	}
	if slices.Sort(repetitions); !slices.Equal(repetitions, []int{1, 2}) {
		t.Errorf("repetitions %v", repetitions)
	}
	if raw, err := os.ReadFile(junit); err != nil || !strings.Contains(string(raw), `failures="0"`) {
		t.Errorf("junit: %v\n%s", err, raw)
	}
	p.nothingLeft(nil)
}

// A campaign that is interrupted or killed in the middle goes on where it was: what
// passed is not run again, and in the end all of it is reported.
func TestAnInterruptedCampaignGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int
	}{
		"after Ctrl-C":  {syscall.SIGINT, 5},
		"after kill -9": {syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			first := p.run(drill(t), "--sem-ver-filter", "argo-rollouts=1.8.2", "--repeat", "2") // no other release is built by then
			first.await("2 of 4  PASS")
			first.await(": deploy v1")
			first.signal(c.signal)
			first.exits(c.code)
			eventually(t, "no process is left", func() bool { return len(p.processes()) == 0 })
			p.start("clean").exits(0)
			before := p.runDirs()

			rest := p.run("--resume")
			rest.exits(0)
			for _, want := range []string{"2 of 4 runs are done", "again: ", "it was interrupted", "4 of 4  PASS"} {
				if !strings.Contains(rest.errors(), want) {
					t.Errorf("no %q in\n%s", want, rest.errors())
				}
			}
			if got := rest.stdout.String(); !strings.Contains(got, "4 runs: 4 pass") {
				t.Errorf("standard output:\n%s", got)
			}
			if n := len(p.runDirs()) - len(before); n != 2 {
				t.Errorf("%d runs in the place of the 2 that were left", n)
			}
			p.nothingLeft(nil)
		})
	}
}

// Of two commands that resume a campaign at the same time the second is refused.
func TestACampaignIsResumedByOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.run(small()...)
	cmd.await(": deploy v1")
	cmd.signal(syscall.SIGINT)
	cmd.exits(5)
	a := p.run("--resume")
	a.await(": starting a cluster")
	b := p.run("--resume")
	b.exits(6)
	if want := fmt.Sprintf("is being run by process %d", a.cmd.Process.Pid); !strings.Contains(b.errors(), want) || strings.Count(b.errors(), "\n") != 1 {
		t.Errorf("the second says %q, want %q", b.errors(), want)
	}
	a.exits(0)
	p.nothingLeft(nil)
}
