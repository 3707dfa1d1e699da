//go:build linux

package deployment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// oracleViews is how many random views the model and the real controller are compared in.
const oracleViews = 20_000

// One pass of the model and one of the real controller write the same, in order, with the
// same annotations. The controller is built from the module that drills use; its pass is
// not exported, so the oracle links to it by name.
func TestReconcileIsThatOfTheRealController(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the Deployment controller; not with -short")
	}
	if os.Getenv("RECKON_TEST_BINARIES") == "" {
		t.Skip("RECKON_TEST_BINARIES is not set: `make components` fills the compile cache, `make test` sets it")
	}
	views := randomViews()
	var in bytes.Buffer
	for _, v := range views {
		if err := json.NewEncoder(&in).Encode(oracleInput(v)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), buildOracle(t))
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(views) {
		t.Fatalf("%d answers for %d views", len(lines), len(views))
	}
	rules, wrong := map[Rule]int{}, 0
	for i, v := range views {
		scales := Reconcile(v)
		for _, s := range scales {
			rules[s.Why]++
		}
		if got := oracleOutput(v, scales); got != lines[i] {
			t.Errorf("view %+v:\nmodel      %s\ncontroller %s", v, got, lines[i])
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
	}
	for _, rule := range []Rule{RuleCreate, RuleNew, RuleUnhealthy, RuleOld, RuleProportional, RuleOnly, RuleSaturated, RuleRecreateDown, RuleRecreateUp} {
		if rules[rule] < 50 {
			t.Errorf("%s was compared in %d writes only", rule, rules[rule])
		}
	}
	t.Logf("writes compared: %v", rules)
}

// buildOracle compiles in a module with the same requirements and flags as the build of
// the control plane, so that the compile cache has all but the last package.
func buildOracle(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	pins := filepath.Join("..", "..", "toolchain", "pins", "kubernetes")
	for from, to := range map[string]string{
		filepath.Join(pins, "go.mod.pin"):                  "go.mod",
		filepath.Join(pins, "go.sum.pin"):                  "go.sum",
		filepath.Join("testdata", "oracle", "main.go.txt"): "main.go",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A function without a body needs an assembly file in its package.
	if err := os.WriteFile(filepath.Join(dir, "empty.s"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "oracle")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func oracleInput(v View) any {
	return map[string]any{
		"Replicas": v.Spec.Replicas, "Surge": v.Spec.Surge.String(), "Unavailable": v.Spec.Unavailable.String(),
		"Recreate": v.Spec.Recreate, "Paused": v.Spec.Paused, "Template": v.Spec.Template, "Status": v.StatusReplicas,
		"Sets": v.Sets,
	}
}

func oracleOutput(v View, scales []Scale) string {
	var out []string
	for _, s := range scales {
		out = append(out, fmt.Sprintf("%s=%d:%d:%d", v.name(s.Set), s.To, v.Spec.Replicas, v.Spec.Most()))
	}
	return strings.Join(out, " ")
}

// randomViews are likely and unlikely ones: most are near a rollout, so that every branch
// is taken often.
func randomViews() []View {
	r := rand.New(rand.NewPCG(1, 2))
	var out []View
	for len(out) < oracleViews {
		s := Spec{
			Replicas: r.IntN(13), Surge: Percent(r.IntN(151)), Unavailable: Percent(r.IntN(101)),
			Recreate: r.IntN(5) == 0, Paused: r.IntN(8) == 0,
		}
		if r.IntN(2) == 0 {
			s.Surge = Int(r.IntN(5))
		}
		if r.IntN(2) == 0 {
			s.Unavailable = Int(r.IntN(5))
		}
		var sets []ReplicaSet
		for i := range r.IntN(5) {
			sets = append(sets, randomSet(r, s, i))
		}
		s.Template = string(rune('a' + r.IntN(5)))
		out = append(out, NewView(s, sets...))
	}
	return out
}

func randomSet(r *rand.Rand, s Spec, i int) ReplicaSet {
	rs := ReplicaSet{Name: string(rune('a' + i)), Created: int64(r.IntN(4)), Desired: s.Replicas, Max: s.Most()}
	if r.IntN(4) > 0 {
		rs.Replicas = r.IntN(s.Replicas + 2)
	}
	if r.IntN(6) == 0 {
		rs.Replicas = s.Replicas
	}
	rs.Pods, rs.Available = rs.Replicas, rs.Replicas
	switch r.IntN(3) {
	case 0:
		rs.Available = r.IntN(rs.Replicas + 1)
	case 1:
		rs.Pods = rs.Replicas + r.IntN(3)
		rs.Available = r.IntN(rs.Pods + 1)
	}
	if s.Recreate && rs.Replicas == 0 && r.IntN(4) == 0 {
		rs.Running = r.IntN(3)
	}
	if r.IntN(6) == 0 {
		rs.Desired = r.IntN(14) - 1
		rs.Max = r.IntN(20) - 1
	}
	return rs
}
