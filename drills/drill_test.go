package drills_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/strict"
)

func files(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(out) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// planned loads a drill and plans it: what `reckon plan FILE` does.
func planned(source string, text []byte) (*plan.Plan, error) {
	d, err := drills.Load(source, text)
	if err != nil {
		return nil, err
	}
	return plan.New(d, plan.Overrides{})
}

func TestValidDrillsArePlanned(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "valid-*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			p, err := planned(filepath.Base(file), readFile(t, file))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Cells) == 0 {
				t.Error("the plan has no cell")
			}
		})
	}
}

// TestInvalidDrillsAreRefused holds the errors of all invalid drills, one line
// each, against one golden file, so that they can be read together.
func TestInvalidDrillsAreRefused(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	for _, file := range files(t, "invalid-*.yaml") {
		name := filepath.Base(file)
		_, err := planned(name, readFile(t, file))
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		if strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s: not one line that begins with the file: %q", name, err)
		}
		fmt.Fprintln(&all, err)
	}
	golden.Check(t, "invalid.golden", all.Bytes())
}

// tooFine are mistakes that a JSON schema cannot express, or that are none in
// JSON: these files satisfy the schema and are refused all the same.
var tooFine = map[string]bool{
	"invalid-at-weight-never-reached.yaml":      true,
	"invalid-controller-manager-newer.yaml":     true,
	"invalid-controller-manager-two-older.yaml": true,
	"invalid-matrix-too-large.yaml":             true,
	"invalid-min-pods-above-replicas.yaml":      true,
	"invalid-old-running-without-delay.yaml":    true,
	"invalid-pause-0s.yaml":                     true,
	"invalid-pause-1500ms.yaml":                 true,
	"invalid-ramp-too-fast.yaml":                true,
}

func TestSchemaAgreesWithStrictLoading(t *testing.T) {
	t.Parallel()
	schema, err := drills.Schema()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(file string) (error, bool) {
		doc, err := strict.Parse(file, readFile(t, file))
		if err != nil {
			return nil, false // no JSON
		}
		raw, err := doc.Root().JSON()
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v), true
	}
	shipped, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files(t, "valid-*.yaml"), shipped...) {
		if err, ok := validate(file); err != nil || !ok {
			t.Errorf("%s: the schema refuses a valid drill: %v", file, err)
		}
	}
	compared := 0
	for _, file := range files(t, "invalid-*.yaml") {
		err, ok := validate(file)
		if !ok {
			continue
		}
		compared++
		if got := err == nil; got != tooFine[filepath.Base(file)] {
			t.Errorf("%s: the schema says %v", file, err)
		}
	}
	if compared < 30 {
		t.Errorf("only %d invalid drills were held against the schema", compared)
	}
}

func TestSchemaIsStable(t *testing.T) {
	t.Parallel()
	schema, err := drills.Schema()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "schema.golden.json", append(raw, '\n'))
}

func TestShippedDrillsArePlanned(t *testing.T) {
	t.Parallel()
	for _, name := range drills.Shipped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := drills.LoadShipped(name)
			if err != nil {
				t.Fatal(err)
			}
			if d.Metadata.Name != name {
				t.Errorf("the drill in %s.yaml is named %s", name, d.Metadata.Name)
			}
			if d.Metadata.Summary == "" {
				t.Error("the drill has no summary for `reckon drills`")
			}
			p, err := plan.New(d, plan.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range p.Cells {
				if _, _, err := c.Load(); err != nil {
					t.Errorf("cell %s: %v", c.Name, err)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ arg, drill, err string }{
		"a shipped drill":             {arg: "default", drill: "default"},
		"a scenario":                  {arg: "rollback-window-abort", drill: "rollback-window-abort"},
		"a file":                      {arg: filepath.Join("testdata", "valid-minimal.yaml"), drill: "d"},
		"a file that is not there":    {arg: "nothing.yaml", err: "reading the drill: open nothing.yaml: no such file or directory"},
		"a directory":                 {arg: "testdata/", err: "reading the drill: read testdata/: is a directory"},
		"a name that is nearly right": {arg: "defualt", err: `no drill file, shipped drill or scenario "defualt", did you mean "default"?; `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := drills.Find(c.arg)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d.Metadata.Name != c.drill || d.Spec.Repeat != 1 || d.Spec.Cluster.Provider == "" || d.Spec.Gate.Claims == "" {
				t.Errorf("got %+v", d)
			}
		})
	}
	if _, err := drills.LoadShipped("rollback-control"); err == nil || err.Error() != `no shipped drill "rollback-control", did you mean "rollback-controls"?` {
		t.Errorf("error %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.8.2": "", "v1.9.0-rc1": "", "../fork": "", "./fork": "", "/src/fork": "", "..": "", "../fork@v1.8.2": "", "../fork@v1.9.0-rc1": "",
		"1.8.2":         `"1.8.2" is no version, did you mean "v1.8.2"?`,
		"v1.8":          `"v1.8" is no version, expected one such as v1.8.2, or a directory`,
		"":              `"" is no version, expected one such as v1.8.2, or a directory`,
		"latest":        `"latest" is no version, expected one such as v1.8.2, or a directory`,
		"v1.8.2 ":       `"v1.8.2 " is no version, expected one such as v1.8.2, or a directory`,
		"../fork@main":  `"main" is no version, expected one such as v1.8.2, or a directory`,
		"../fork@1.8.2": `"1.8.2" is no version, did you mean "v1.8.2"?`,
		"../fork@":      `"" is no version, expected one such as v1.8.2, or a directory`,
	} {
		got := ""
		if err := drills.CheckVersion(version); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
