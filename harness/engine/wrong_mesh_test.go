//go:build linux

package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/scenario"
)

// stickyFleet is the name under which this test's program is a fleet whose proxies
// all know the same one of the replicas that are Ready.
const stickyFleet = "sticky-fleet"

// sticky passes the orders of a fleet on, of the replicas that are Ready only the
// oldest one.
func sticky(orders io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewScanner(orders)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Bytes()
			var order struct{ Ready []string }
			if json.Unmarshal(line, &order) == nil && len(order.Ready) > 1 {
				line, _ = json.Marshal(map[string]any{"ready": order.Ready[:1]})
			}
			if _, err := fmt.Fprintf(in, "%s\n", line); err != nil {
				return
			}
		}
		_ = in.CloseWithError(lines.Err())
	}()
	return out
}

// replace puts another program in the place of one of a component.
func replace(parts engine.Parts, component, program, path string) {
	artifact := parts[component]
	artifact.Binaries = slices.Clone(artifact.Binaries)
	for i := range artifact.Binaries {
		if artifact.Binaries[i].Name == program {
			artifact.Binaries[i].Path = path
		}
	}
	parts[component] = artifact
}

// ageless is an istiod that is not given the age of connections.
func ageless(t *testing.T, parts engine.Parts) {
	t.Helper()
	program, err := parts.Path(scenario.Istiod, "pilot-discovery")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "pilot-discovery")
	text := fmt.Sprintf(`#!/bin/sh
for arg do
  shift
  case $arg in
  --keepaliveMaxServerConnectionAge=*) ;;
  *) set -- "$@" "$arg" ;;
  esac
done
exec %q "$@"
`, program)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	replace(parts, scenario.Istiod, "pilot-discovery", script)
}

// pinned is a fleet whose proxies choose one and the same replica.
func pinned(t *testing.T, parts engine.Parts) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), stickyFleet)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	replace(parts, "traffic", "reckon-traffic", link)
}

// TestAWrongMeshBreaksTheClaimsAboutIt plays half of istiod's replicas away where one
// thing is really wrong. What is said of the rest must hold all the same. One cluster
// at a time: proxies that are starved show nothing.
func TestAWrongMeshBreaksTheClaimsAboutIt(t *testing.T) {
	// Some runs of the model are not even again by so early an end, and the last of so
	// few orphans is one proxy. Outages are a few tenths of a second: other work shows in them.
	either := []string{"even-again", "outage", "last-outage"}
	for name, c := range map[string]struct {
		wrong        func(t *testing.T, parts engine.Parts)
		watch        string
		broken, held []string
	}{
		// No connection ends by its age, so that none moves to a new replica either.
		"istiod was not given an age": {ageless, "15s", []string{"lives", "spread", "reconnects"}, []string{"steady-spread", "steady-rate", "all-back"}},
		// Connections end as they should, and all begin at one replica.
		// All of them are orphans when it goes, twice as many as the model has.
		"proxies stick to one replica": {pinned, "12s", []string{"steady-spread", "spread", "reconnects"}, []string{"lives", "steady-rate", "all-back"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, "istiod-mass-eviction", "replicas=4", "connections=80", "evict=2", "how=kill", "requestLimit=1000",
				"connectionAge=10s", "closeOnGoAway=true", "steady=5s", "watch="+c.watch)
			c.wrong(t, r.parts)
			out := r.judged()
			status := map[string]judge.Status{}
			for _, claim := range out.Run.Verdict.Claims {
				t.Logf("%-14s %-12s %s %s", claim.ID, claim.Status, claim.Observed, claim.Why)
				status[claim.ID] = claim.Status
			}
			if out.Run.Verdict.Outcome == judge.Undecided || slices.ContainsFunc(out.Run.Verdict.Claims, func(c judge.ClaimResult) bool { return c.Status == judge.Inconclusive }) {
				t.Skipf("this machine was too busy to tell: %s", out.Run.Verdict.Reasons[0])
			}
			for _, id := range c.broken {
				if status[id] != judge.Broken {
					t.Errorf("claim %s is %s", id, status[id])
				}
			}
			for id := range status {
				if !slices.Contains(slices.Concat(c.broken, c.held, either), id) {
					t.Errorf("nothing is expected of claim %s", id)
				}
			}
			for _, id := range c.held {
				if status[id] != judge.Held {
					t.Errorf("claim %s is %s", id, status[id])
				}
			}
			if out.Run.Verdict.Outcome != judge.Fail {
				t.Errorf("%s: %q", out.Run.Verdict.Outcome, out.Run.Verdict.Reasons)
			}
		})
	}
}
