// Package drills holds the drills that ship with Reckon, the form of a drill
// file, and its strict loading: whatever is unknown is an error with its line.
package drills

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/strict"
	"reckon.dev/reckon/scenarios"
)

// APIVersion and Kind of drill files.
const (
	APIVersion = "reckon/v1"
	Kind       = "Drill"
)

// MaxParallel bounds the runs that are under way at a time.
const MaxParallel = 64

// Drill says which scenarios are run, with which parameters, on which cluster,
// with which component versions, how often, and what fails the gate.
type Drill struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`

	doc *strict.Document
}

// Metadata names a drill.
type Metadata struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"`
}

// Spec is what a drill does.
type Spec struct {
	Cluster Cluster `json:"cluster,omitempty"`
	Repeat  int     `json:"repeat,omitempty"`
	// Parallel is how many runs are under way at a time.
	Parallel  int        `json:"parallel,omitempty"`
	Scenarios []Scenario `json:"scenarios"`
	Gate      judge.Gate `json:"gate,omitempty"`
}

// Cluster says what the drill runs on.
type Cluster struct {
	Provider   string `json:"provider,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// ControllerManager is the version of the kube-controller-manager alone,
	// as in the middle of an upgrade. Empty: that of Kubernetes.
	ControllerManager string `json:"controllerManager,omitempty"`
	// Nodes is the number of simulated nodes of an embedded cluster, Workers that
	// of the nodes of a kind cluster beside its control plane's.
	Nodes   int `json:"nodes,omitempty"`
	Workers int `json:"workers,omitempty"`
	// NodeImage is what the nodes of a kind cluster run: auto (or empty), build,
	// or a reference.
	NodeImage string `json:"nodeImage,omitempty"`
}

// Scenario is one scenario of a drill with its own matrix.
type Scenario struct {
	Name string `json:"name"`
	// Label tells cells of the same scenario apart in names and reports.
	Label  string         `json:"label,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	// Matrix has one list of values for each component version or parameter
	// that varies; every combination is a cell.
	Matrix map[string][]any   `json:"matrix,omitempty"`
	Guards map[string]float64 `json:"guards,omitempty"`
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Load reads a drill. Errors name the source, the line and the field.
func Load(source string, text []byte) (*Drill, error) {
	doc, err := strict.Parse(source, text)
	if err != nil {
		return nil, err
	}
	d := &Drill{doc: doc}
	if err := doc.Decode(d); err != nil {
		if bad, ok := errors.AsType[*strict.Error](err); ok && strings.Contains(bad.Field, ".guards.") {
			err = cmp.Or(d.unknownGuard(), err) // the type of its limit is not what is wrong
		}
		return nil, err
	}
	return d, d.validate()
}

// ForScenario makes the drill that runs one scenario with its defaults.
func ForScenario(name string) *Drill {
	d := &Drill{APIVersion: APIVersion, Kind: Kind, Metadata: Metadata{Name: name}}
	d.Spec.Scenarios = []Scenario{{Name: name}}
	d.Spec.Repeat, d.Spec.Parallel = 1, 1
	d.defaults()
	return d
}

// Node is the part of the drill's file at a path of keys, for error messages.
// It is the zero Node for a drill that was not loaded from a file.
func (d *Drill) Node(keys ...string) strict.Node {
	if d.doc == nil {
		return strict.Node{}
	}
	return d.doc.Root().Find(keys...)
}

// ScenarioNode is the part of the drill's file about its i-th scenario.
func (d *Drill) ScenarioNode(i int) strict.Node { return d.Node("spec", "scenarios").Index(i) }

func (d *Drill) defaults() {
	if d.Spec.Cluster.Provider == "" {
		d.Spec.Cluster.Provider = cluster.Embedded
	}
	if d.Spec.Gate.Claims == "" {
		d.Spec.Gate.Claims = "fail"
	}
	if d.Spec.Gate.Guards == "" {
		d.Spec.Gate.Guards = "report"
	}
}

func (d *Drill) validate() error {
	root := d.doc.Root()
	if d.APIVersion != APIVersion {
		return orRoot(root.Find("apiVersion"), root).Errorf("apiVersion is %q, expected %q", d.APIVersion, APIVersion)
	}
	if d.Kind != Kind {
		return orRoot(root.Find("kind"), root).Errorf("kind is %q, expected %q", d.Kind, Kind)
	}
	if !nameForm.MatchString(d.Metadata.Name) {
		return orRoot(root.Find("metadata", "name"), root).Errorf("the drill needs a name of lower-case letters, digits and dashes, not %q", d.Metadata.Name)
	}
	if node := d.Node("spec", "repeat"); node.IsZero() {
		d.Spec.Repeat = 1
	} else if d.Spec.Repeat < 1 || d.Spec.Repeat > 1000 {
		return node.Errorf("%d is no number of repetitions, expected 1 to 1000", d.Spec.Repeat)
	}
	if node := d.Node("spec", "parallel"); node.IsZero() {
		d.Spec.Parallel = 1
	} else if d.Spec.Parallel < 1 || d.Spec.Parallel > MaxParallel {
		return node.Errorf("%d is no number of runs at a time, expected 1 to %d", d.Spec.Parallel, MaxParallel)
	}
	d.defaults()
	for _, check := range []func() error{d.validateCluster, d.validateGate, d.validateScenarios} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drill) validateCluster() error {
	c := d.Spec.Cluster
	if !slices.Contains(cluster.Providers(), c.Provider) {
		return d.Node("spec", "cluster", "provider").Errorf("unknown provider %q%s; there are %s", c.Provider, nearest.Hint(c.Provider, cluster.Providers()), strings.Join(cluster.Providers(), ", "))
	}
	for _, v := range []struct{ field, version string }{{"kubernetes", c.Kubernetes}, {"controllerManager", c.ControllerManager}} {
		if v.version == "" {
			continue
		}
		if err := CheckVersion(v.version); err != nil {
			return d.Node("spec", "cluster", v.field).Errorf("%v", err)
		}
	}
	if node := d.Node("spec", "cluster", "nodes"); !node.IsZero() && (c.Nodes < 1 || c.Nodes > 1000) {
		return node.Errorf("%d is no number of nodes, expected 1 to 1000", c.Nodes)
	}
	if err := cluster.CheckWorkers(c.Workers); err != nil {
		return d.Node("spec", "cluster", "workers").Errorf("%v", err)
	}
	if err := cluster.CheckNodeImage(c.NodeImage); err != nil {
		return d.Node("spec", "cluster", "nodeImage").Errorf("%v", err)
	}
	return nil
}

func (d *Drill) validateGate() error {
	for _, gate := range []struct{ field, value string }{{"claims", d.Spec.Gate.Claims}, {"guards", d.Spec.Gate.Guards}} {
		if values := []string{"fail", "report"}; !slices.Contains(values, gate.value) {
			return d.Node("spec", "gate", gate.field).Errorf("%q is unknown, expected fail or report%s", gate.value, nearest.Hint(gate.value, values))
		}
	}
	return nil
}

func (d *Drill) validateScenarios() error {
	if len(d.Spec.Scenarios) == 0 {
		return orRoot(d.Node("spec", "scenarios"), d.doc.Root()).Errorf("the drill names no scenario; there are %s", strings.Join(scenarios.Names(), ", "))
	}
	for i, sc := range d.Spec.Scenarios {
		node := d.ScenarioNode(i)
		s, err := scenarios.Get(sc.Name)
		if err != nil {
			return orRoot(node.Find("name"), node).Errorf("%v; there are %s", err, strings.Join(scenarios.Names(), ", "))
		}
		if len(sc.Label) > 40 || strings.ContainsAny(sc.Label, "[],#\n") {
			return node.Find("label").Errorf("expected at most 40 characters, none of them a bracket, comma, # or line break")
		}
		if err := checkKeys(node, sc, s); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses parameters, matrix keys and guards that the scenario does not know.
func checkKeys(node strict.Node, sc Scenario, s scenario.Scenario) error {
	params := scenario.Names(s.Defaults())
	for _, key := range slices.Sorted(maps.Keys(sc.Params)) {
		if !slices.Contains(params, key) {
			return node.Find("params", key).Errorf("scenario %s has no parameter %q%s; expected one of %s", sc.Name, key, nearest.Hint(key, params), strings.Join(params, ", "))
		}
	}
	axes := append(scenario.Versioned(s, cluster.Everything()), params...)
	for _, key := range slices.Sorted(maps.Keys(sc.Matrix)) {
		if !slices.Contains(axes, key) {
			return node.Find("matrix", key).Errorf("neither a component nor a parameter of scenario %s%s; expected one of %s", sc.Name, nearest.Hint(key, axes), strings.Join(axes, ", "))
		}
		if len(sc.Matrix[key]) == 0 {
			return node.Find("matrix", key).Errorf("the list is empty, so the scenario would have no cell")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sc.Guards)) {
		if err := checkGuard(node.Find("guards", key), key, s); err != nil {
			return err
		}
		if limit := sc.Guards[key]; limit < 0 {
			return node.Find("guards", key).Errorf("%g is no limit, expected 0 or more", limit)
		}
	}
	return nil
}

// checkGuard refuses a guard that the scenario does not have.
func checkGuard(node strict.Node, key string, s scenario.Scenario) error {
	var guards []string
	if g, ok := s.(scenario.GuardNames); ok {
		guards = slices.Sorted(maps.Keys(g.Guards()))
	}
	switch {
	case slices.Contains(guards, key):
		return nil
	case len(guards) == 0:
		return node.Errorf("scenario %s has no guards", s.Name())
	}
	return node.Errorf("scenario %s has no guard %q%s; expected one of %s", s.Name(), key, nearest.Hint(key, guards), strings.Join(guards, ", "))
}

// unknownGuard finds a guard that its scenario does not have in a drill that
// could not be decoded.
func (d *Drill) unknownGuard() error {
	var loose struct {
		Spec struct {
			Scenarios []struct {
				Name   string         `json:"name"`
				Guards map[string]any `json:"guards"`
			} `json:"scenarios"`
		} `json:"spec"`
	}
	raw, err := d.doc.Root().JSON()
	if err != nil || json.Unmarshal(raw, &loose) != nil {
		return nil
	}
	for i, sc := range loose.Spec.Scenarios {
		s, err := scenarios.Get(sc.Name)
		if err != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(sc.Guards)) {
			if err := checkGuard(d.ScenarioNode(i).Find("guards", key), key, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func orRoot(n, root strict.Node) strict.Node {
	if n.IsZero() {
		return root
	}
	return n
}

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// CheckVersion accepts a full version ("v1.8.2") or a directory, which has a
// slash or begins with a dot ("../my-fork", "../my-fork@v1.8.2").
func CheckVersion(v string) error {
	directory := strings.HasPrefix(v, ".") || strings.Contains(v, "/")
	if _, base, ok := strings.Cut(v, "@"); directory && ok {
		v, directory = base, false // what the directory is based on must be a release
	}
	switch {
	case versionForm.MatchString(v), directory:
		return nil
	case versionForm.MatchString("v" + v):
		return fmt.Errorf("%q is no version, did you mean %q?", v, "v"+v)
	}
	return fmt.Errorf("%q is no version, expected one such as v1.8.2, or a directory", v)
}

//go:embed *.yaml
var shipped embed.FS

// Shipped lists the names of the drills that ship with Reckon.
func Shipped() []string {
	files, err := fs.Glob(shipped, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	return files
}

// LoadShipped loads a shipped drill by name.
func LoadShipped(name string) (*Drill, error) {
	text, err := shipped.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no shipped drill %q%s", name, nearest.Hint(name, Shipped()))
	}
	return Load("drills/"+name+".yaml", text)
}

// ScenarioPrefix before a name says that a scenario is meant, and no drill.
const ScenarioPrefix = "scenario:"

// Find resolves what a user names: a file (anything with a slash or ending in
// .yaml or .yml), a shipped drill, or a scenario with its defaults. A drill goes
// before the scenario that it has its name from, unless ScenarioPrefix is there.
func Find(arg string) (*Drill, error) {
	if name, ok := strings.CutPrefix(arg, ScenarioPrefix); ok {
		if _, err := scenarios.Get(name); err != nil {
			return nil, fmt.Errorf("%w; there are %s", err, strings.Join(scenarios.Names(), ", "))
		}
		return ForScenario(name), nil
	}
	if strings.ContainsRune(arg, os.PathSeparator) || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		if info, err := os.Stat(arg); err == nil && !info.IsDir() && !info.Mode().IsRegular() { // a pipe would keep us for ever
			return nil, fmt.Errorf("reading the drill: %s is no regular file", arg)
		}
		text, err := os.ReadFile(arg)
		if err != nil {
			return nil, fmt.Errorf("reading the drill: %w", err)
		}
		return Load(arg, text)
	}
	if slices.Contains(Shipped(), arg) {
		return LoadShipped(arg)
	}
	if slices.Contains(scenarios.Names(), arg) {
		return ForScenario(arg), nil
	}
	all := append(Shipped(), scenarios.Names()...)
	return nil, fmt.Errorf("no drill file, shipped drill or scenario %q%s; `reckon drills` and `reckon scenarios` list what there is", arg, nearest.Hint(arg, all))
}
