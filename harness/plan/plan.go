// Package plan turns a drill and the wishes of the command line into cells:
// what is run, on what, with which versions. It touches nothing.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/strict"
	"reckon.dev/reckon/harness/toolchain"
	"reckon.dev/reckon/scenarios"
)

// Overrides are what the command line says beside the drill.
type Overrides struct {
	// Set replaces parameters, "name=YAML value", in every scenario that has them.
	Set []string `json:"set,omitempty"`
	// Versions replaces a component's matrix, "component=version or directory".
	Versions []string `json:"versions,omitempty"`
	// Kubernetes is short for the version "kubernetes=...".
	Kubernetes string `json:"kubernetes,omitempty"`
	Provider   string `json:"provider,omitempty"`
	NodeImage  string `json:"nodeImage,omitempty"`
	Repeat     int    `json:"repeat,omitempty"`   // 0: as the drill says
	Parallel   int    `json:"parallel,omitempty"` // 0: as the drill says
}

// Plan is everything that a run will do.
type Plan struct {
	Drill string `json:"drill"`
	// Parallel is how many runs are under way at a time. It is no part of the
	// hash: it changes when things are done, not what is done.
	Parallel int    `json:"-"`
	Cells    []Cell `json:"cells"`
}

// Cell is one scenario with one set of parameters, versions and cluster.
type Cell struct {
	// Name tells the cell apart from the others of its plan.
	Name     string          `json:"name"`
	Drill    string          `json:"drill"`
	Scenario string          `json:"scenario"`
	Params   json.RawMessage `json:"params"`
	// Versions are versions or directories by component, Kubernetes included.
	// The controller manager is there only if it differs from Kubernetes.
	Versions map[string]string `json:"versions"`
	// Later are the versions that the script puts in the place of those.
	Later    map[string][]string `json:"later,omitempty"`
	Provider string              `json:"provider"`
	Nodes    int                 `json:"nodes,omitempty"`
	// NodeImage is for clusters of containers: auto (or empty), build, a reference.
	NodeImage string `json:"nodeImage,omitempty"`
	// SharesCluster: runs with the same provider, versions and nodes use one
	// cluster, each in a namespace of its own.
	SharesCluster bool               `json:"sharesCluster,omitempty"`
	Guards        map[string]float64 `json:"guards,omitempty"`
	Gate          judge.Gate         `json:"gate"`
	Repeat        int                `json:"repeat"`
	// ExpectedSec is how long one run takes when all goes as predicted.
	ExpectedSec float64 `json:"expectedSeconds"`
}

// New computes the plan of a drill.
func New(d *drills.Drill, o Overrides) (*Plan, error) {
	p := &Plan{Drill: d.Metadata.Name, Parallel: d.Spec.Parallel}
	if o.Parallel < 0 || o.Parallel > drills.MaxParallel {
		return nil, fmt.Errorf("--parallel: %d is no number of runs at a time, expected 1 to %d", o.Parallel, drills.MaxParallel)
	}
	if o.Parallel > 0 {
		p.Parallel = o.Parallel
	}
	wishes, err := parseWishes(d, o)
	if err != nil {
		return nil, err
	}
	for i := range d.Spec.Scenarios {
		cells, err := cellsOf(d, i, wishes)
		if err != nil {
			return nil, err
		}
		p.Cells = append(p.Cells, cells...)
	}
	p.number()
	return p, nil
}

// Join makes one plan of several, the first cell of each before the second of any, so
// that what is compared is run close together. Of names that several have, all but
// the first get a number. It also returns which plan each cell comes from.
func Join(plans ...*Plan) (joined *Plan, of []int) {
	joined = &Plan{}
	taken := map[string]bool{}
	for i, more := 0, true; more; i++ {
		more = false
		for j, p := range plans {
			if joined.Drill, joined.Parallel = plans[0].Drill, max(joined.Parallel, p.Parallel); i >= len(p.Cells) {
				continue
			}
			more = true
			cell := p.Cells[i]
			for n := 2; taken[cell.Name]; n++ {
				cell.Name = fmt.Sprintf("%s#%d", p.Cells[i].Name, n)
			}
			taken[cell.Name] = true
			joined.Cells, of = append(joined.Cells, cell), append(of, j)
		}
	}
	return joined, of
}

// Hash identifies what the plan does: same hash, same cells.
func (p *Plan) Hash() string {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain data always marshals
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

// Expected is how long the whole plan takes with Parallel runs at a time: the
// longest run bounds it from below.
func (p *Plan) Expected() time.Duration {
	var total, longest time.Duration
	for _, c := range p.Cells {
		total += c.Expected() * time.Duration(c.Repeat)
		longest = max(longest, c.Expected())
	}
	expected := max(longest, total/time.Duration(max(p.Parallel, 1)))
	if i := slices.IndexFunc(p.Cells, func(c Cell) bool { return c.SharesCluster }); i >= 0 {
		expected += clusterOverhead(p.Cells[i].Provider)
	}
	return expected
}

// Expected is how long one run of the cell takes, its cluster included.
func (c Cell) Expected() time.Duration { return time.Duration(c.ExpectedSec * float64(time.Second)) }

// number tells cells apart that differ in nothing that their names show.
func (p *Plan) number() {
	seen := map[string]int{}
	for i := range p.Cells {
		name := p.Cells[i].Name
		if seen[name]++; seen[name] > 1 {
			p.Cells[i].Name = fmt.Sprintf("%s#%d", name, seen[name])
		}
	}
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// Slug is the cell's name as part of a file name.
func (c Cell) Slug() string { return strings.Trim(unsafe.ReplaceAllString(c.Name, "-"), "-") }

// Load returns the scenario and its parameters as the cell has them.
func (c Cell) Load() (scenario.Scenario, any, error) {
	s, err := scenarios.Get(c.Scenario)
	if err != nil {
		return nil, nil, err
	}
	params := s.Defaults()
	if err := json.Unmarshal(c.Params, params); err != nil {
		return nil, nil, fmt.Errorf("parameters of scenario %s: %w", c.Scenario, err)
	}
	return s, params, nil
}

// podTime is about what real pods take beyond the script's own times: to start, to
// end, and to leave the cluster to the next run.
const podTime = 30 * time.Second

// clusterOverhead is about what bringing a cluster up and down takes, with what
// has to run in it.
func clusterOverhead(provider string) time.Duration {
	if provider == cluster.Kind {
		return 45 * time.Second
	}
	return 8 * time.Second
}

// axis is one dimension of a scenario's matrix.
type axis struct {
	key    string
	values []any
	at     []place
}

// place is where a value comes from: a flag, a node of the drill's file, or,
// for a drill without a file, nowhere.
type place struct {
	flag string
	node strict.Node
}

// blame says where a mistake is.
func (p place) blame(err error) error {
	if p.flag != "" {
		return fmt.Errorf("%s: %w", p.flag, err)
	}
	return atNode(p.node, "%v", err)
}

func cellsOf(d *drills.Drill, i int, w wishes) ([]Cell, error) {
	sc, node := d.Spec.Scenarios[i], d.ScenarioNode(i)
	s, err := scenarios.Get(sc.Name)
	if err != nil {
		return nil, err
	}
	if err := checkAbsent(d, sc, node, s, w); err != nil {
		return nil, err
	}
	axes := axesOf(sc, node, s, w, w.on(d))
	if cellCount(axes) > maxCells {
		return nil, node.Find("matrix").Errorf("the matrix has more than %d cells", maxCells)
	}
	var out []Cell
	for pick := range combinations(axes) {
		cell, err := w.cell(d, sc, node, s, axes, pick)
		if err != nil {
			return nil, err
		}
		out = append(out, cell)
	}
	return out, nil
}

// checkAbsent refuses to vary a component that takes part with another provider only.
func checkAbsent(d *drills.Drill, sc drills.Scenario, node strict.Node, s scenario.Scenario, w wishes) error {
	here := scenario.Versioned(s, w.on(d))
	for _, key := range slices.Sorted(maps.Keys(sc.Matrix)) {
		if !slices.Contains(here, key) && slices.Contains(scenario.Versioned(s, cluster.Everything()), key) {
			return node.Find("matrix", key).Errorf("%s takes no part in scenario %s with the provider %s; the components there are %s", key, sc.Name, w.providerOf(d), strings.Join(here, ", "))
		}
	}
	return nil
}

// maxCells bounds the matrix of one scenario: more is a slip of the pen.
const maxCells = 1000

func cellCount(axes []axis) int {
	n := 1
	for _, a := range axes {
		if n *= len(a.values); n > maxCells {
			break
		}
	}
	return n
}

// axesOf sorts components before parameters, each by name, so that plans are stable.
func axesOf(sc drills.Scenario, node strict.Node, s scenario.Scenario, w wishes, on cluster.Capabilities) []axis {
	var out []axis
	add := func(key string) {
		a := axis{key: key, values: sc.Matrix[key]}
		for j := range a.values {
			a.at = append(a.at, place{node: node.Find("matrix", key).Index(j)})
		}
		out = append(out, a)
	}
	versioned := scenario.Versioned(s, on)
	for _, component := range versioned {
		if v, ok := w.versions[component]; ok {
			out = append(out, axis{key: component, values: []any{v.version}, at: []place{{flag: v.flag}}})
		} else if _, ok := sc.Matrix[component]; ok {
			add(component)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sc.Matrix)) {
		if _, set := w.set[key]; !set && !slices.Contains(versioned, key) {
			add(key)
		}
	}
	return out
}

// combinations yields one index for each axis, the last axis fastest.
func combinations(axes []axis) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		pick := make([]int, len(axes))
		for {
			if !yield(slices.Clone(pick)) {
				return
			}
			i := len(axes) - 1
			for ; i >= 0; i-- {
				if pick[i]++; pick[i] < len(axes[i].values) {
					break
				}
				pick[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}

// wishes are parsed overrides.
type wishes struct {
	set      map[string]*strict.Document
	versions map[string]versionWish
	provider string
	// nodeImage replaces that of the drill.
	nodeImage string
	repeat    int
}

// versionWish is a version with the flag that it was given by.
type versionWish struct{ version, flag string }

func parseWishes(d *drills.Drill, o Overrides) (wishes, error) {
	w := wishes{set: map[string]*strict.Document{}, versions: map[string]versionWish{}, provider: o.Provider, nodeImage: o.NodeImage, repeat: o.Repeat}
	if w.provider != "" && !slices.Contains(cluster.Providers(), w.provider) {
		return w, fmt.Errorf("--provider: unknown provider %q%s; there are %s", w.provider, nearest.Hint(w.provider, cluster.Providers()), strings.Join(cluster.Providers(), ", "))
	}
	if o.NodeImage != "" && w.providerOf(d) != cluster.Kind {
		return w, fmt.Errorf("--node-image means nothing to the provider %s", w.providerOf(d))
	}
	if err := cluster.CheckNodeImage(o.NodeImage); err != nil {
		return w, fmt.Errorf("--node-image: %w", err)
	}
	if err := w.checkForeign(d); err != nil {
		return w, err
	}
	if o.Repeat < 0 || o.Repeat > 1000 {
		return w, fmt.Errorf("--repeat: %d is no number of repetitions, expected 1 to 1000", o.Repeat)
	}
	var params, components []string
	for _, sc := range d.Spec.Scenarios {
		s, err := scenarios.Get(sc.Name)
		if err != nil {
			return w, err
		}
		params = distinct(params, scenario.Names(s.Defaults()))
		components = distinct(components, scenario.Versioned(s, w.on(d)))
	}
	for _, kv := range o.Set {
		key, value, ok := strings.Cut(kv, "=")
		if err := checkPair("--set "+kv, ok, key, "parameter", "PARAMETER=VALUE", params); err != nil {
			return w, err
		}
		doc, err := strict.ParseValue("--set "+kv, key, value)
		if err != nil {
			return w, err
		}
		w.set[key] = doc
	}
	for _, kv := range o.Versions {
		component, version, ok := strings.Cut(kv, "=")
		if err := checkPair("--version "+kv, ok, component, "component", "COMPONENT=VERSION or COMPONENT=DIRECTORY", components); err != nil {
			return w, err
		}
		if err := w.addVersion(component, version, "--version "+kv); err != nil {
			return w, err
		}
	}
	if o.Kubernetes == "" {
		return w, nil
	}
	return w, w.addVersion(scenario.Kubernetes, o.Kubernetes, "--kubernetes "+o.Kubernetes)
}

// checkForeign refuses what a drill's own provider has no use for. Where the command
// line asks for another provider, it is left out.
func (w wishes) checkForeign(d *drills.Drill) error {
	foreign := map[string][]string{cluster.Embedded: {"workers", "nodeImage"}, cluster.Kind: {"nodes"}}
	if w.providerOf(d) != d.Spec.Cluster.Provider {
		return nil
	}
	for _, field := range foreign[d.Spec.Cluster.Provider] {
		if node := d.Node("spec", "cluster", field); !node.IsZero() {
			return node.Errorf("means nothing to the provider %s", d.Spec.Cluster.Provider)
		}
	}
	return nil
}

// providerOf is the provider that the drill's cells run on.
func (w wishes) providerOf(d *drills.Drill) string {
	return cmp.Or(w.provider, d.Spec.Cluster.Provider)
}

// on is what that provider offers.
func (w wishes) on(d *drills.Drill) cluster.Capabilities { return cluster.Offered(w.providerOf(d)) }

func (w wishes) addVersion(component, version, flag string) error {
	if err := drills.CheckVersion(version); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if _, twice := w.versions[component]; twice {
		return fmt.Errorf("%s: %s is given twice; a matrix of versions belongs into a drill file", flag, component)
	}
	w.versions[component] = versionWish{version, flag}
	return nil
}

// distinct appends the names that are not there yet.
func distinct(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkPair refuses what is no NAME=VALUE, and a name that there is not.
func checkPair(flag string, formed bool, name, noun, form string, names []string) error {
	switch {
	case !formed:
		return fmt.Errorf("%s: expected %s with a %s of %s", flag, form, noun, strings.Join(names, ", "))
	case !slices.Contains(names, name):
		return fmt.Errorf("%s: no %s %q%s; there are %s", flag, noun, name, nearest.Hint(name, names), strings.Join(names, ", "))
	}
	return nil
}

func (w wishes) cell(d *drills.Drill, sc drills.Scenario, node strict.Node, s scenario.Scenario, axes []axis, pick []int) (Cell, error) {
	cell := Cell{
		Drill: d.Metadata.Name, Scenario: sc.Name, Provider: w.providerOf(d), Nodes: d.Spec.Cluster.Nodes,
		Versions: baseVersions(d, s, w.on(d)), Guards: sc.Guards, Gate: d.Spec.Gate, Repeat: d.Spec.Repeat,
	}
	if w.repeat > 0 {
		cell.Repeat = w.repeat
	}
	if cell.Provider == cluster.Kind {
		cell.Nodes, cell.NodeImage = d.Spec.Cluster.Workers+1, cmp.Or(w.nodeImage, d.Spec.Cluster.NodeImage)
	}
	params := s.Defaults()
	if err := node.Find("params").Decode(params); err != nil {
		return cell, err
	}
	from := origins{}
	for _, key := range scenario.Names(params) {
		from.add(key, node.Find("params"), node.Find("params", key))
	}
	skew := place{node: d.Node("spec", "cluster", "controllerManager")}
	var labels []string
	if sc.Label != "" {
		labels = append(labels, sc.Label)
	}
	for i, a := range axes {
		value, at := a.values[pick[i]], a.at[pick[i]]
		label, err := applyAxis(&cell, params, scenario.Versioned(s, w.on(d)), a.key, value, at.node)
		if err != nil {
			return cell, err
		}
		labels = append(labels, label)
		from.add(a.key, at.node.As(a.key), at.node)
		if a.key == scenario.Kubernetes || a.key == scenario.ControllerManager {
			skew = at
		}
	}
	if err := cmp.Or(settleControllerManager(cell.Versions), checkSkewable(&cell)); err != nil {
		return cell, skew.blame(err)
	}
	for _, key := range slices.Sorted(maps.Keys(w.set)) {
		doc := w.set[key]
		if slices.Contains(scenario.Names(params), key) {
			if err := doc.Decode(params); err != nil {
				return cell, err
			}
			from.add(key, doc.Root(), doc.Root())
		}
	}
	cell.Name = sc.Name
	if len(labels) > 0 {
		cell.Name += "[" + strings.Join(labels, ",") + "]"
	}
	return cell, finish(&cell, s, params, node, from)
}

// origins says where each parameter's value comes from: the mapping that has
// the parameter as a key.
type origins map[string]strict.Node

func (o origins) add(key string, mapping, value strict.Node) {
	if !value.IsZero() {
		o[key] = mapping
	}
}

func baseVersions(d *drills.Drill, s scenario.Scenario, on cluster.Capabilities) map[string]string {
	out := map[string]string{}
	for _, c := range toolchain.Catalogue() {
		if slices.Contains(scenario.Versioned(s, on), c.Name) && c.Name != scenario.ControllerManager { // which follows Kubernetes
			out[c.Name] = c.Default
		}
	}
	if v := d.Spec.Cluster.Kubernetes; v != "" {
		out[scenario.Kubernetes] = v
	}
	if v := d.Spec.Cluster.ControllerManager; v != "" {
		out[scenario.ControllerManager] = v
	}
	return out
}

// applyAxis puts one value of the matrix into the cell and returns its label.
func applyAxis(cell *Cell, params any, versioned []string, key string, value any, at strict.Node) (string, error) {
	if slices.Contains(versioned, key) {
		version, ok := value.(string)
		if !ok {
			return "", at.Errorf("expected a version as text, such as v1.8.2")
		}
		if err := drills.CheckVersion(version); err != nil {
			return "", at.Errorf("%v", err)
		}
		cell.Versions[key] = version
		return key + "=" + version, nil
	}
	if err := at.As(key).Decode(params); err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", at.Errorf("%v", err)
	}
	return key + "=" + strings.Trim(string(text), `"`), nil
}

// atNode places an error at a drill file's node, where there is a file.
func atNode(node strict.Node, format string, args ...any) error {
	if node.IsZero() {
		return fmt.Errorf(format, args...)
	}
	return node.Errorf(format, args...)
}

// finish checks the parameters as a whole and freezes them.
func finish(cell *Cell, s scenario.Scenario, params any, node strict.Node, from origins) error {
	if err := load(s, params, node, from); err != nil {
		return err
	}
	if err := settleReleases(cell, s, params); err != nil {
		return atNode(node, "%v", err)
	}
	for _, component := range s.Components(cluster.Offered(cell.Provider)) {
		for _, version := range append([]string{cell.Versions[component]}, cell.Later[component]...) {
			if dir, base := SplitVersion(version); dir != "" && base == "" {
				return atNode(node, "%s=%s: which release is the directory based on? Say %s@v1.8.2 or the like, so that it is held against that model", component, dir, dir)
			}
		}
	}
	if err := checkNeeds(cell.Provider, s, params); err != nil {
		if node.IsZero() {
			return fmt.Errorf("scenario %s: %w", s.Name(), err)
		}
		return node.Errorf("%v", err)
	}
	if err := cmp.Or(check(s, params, ModelVersions(cell.Versions)), checkFits(cell, s, params)); err != nil {
		return blame(err, s, node, from)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	cell.Params = raw
	on := cluster.Offered(cell.Provider)
	cell.SharesCluster = shares(s, params, on)
	expected := s.Expected(params)
	if on.Has(cluster.Kubelet) {
		expected += podTime
	}
	if !cell.SharesCluster {
		expected += clusterOverhead(cell.Provider)
	}
	cell.ExpectedSec = expected.Seconds()
	return nil
}

// blame says where the parameter stands that cannot be used.
func blame(err error, s scenario.Scenario, node strict.Node, from origins) error {
	field, ok := errors.AsType[*scenario.FieldError](err)
	if !ok {
		return fmt.Errorf("scenario %s: %w", s.Name(), err)
	}
	if mapping, ok := from[topField(field.Field)]; ok {
		return mapping.At(field.Field).Errorf("%s", field.Msg)
	}
	if !node.IsZero() {
		return node.At("params."+field.Field).Errorf("%s", field.Msg)
	}
	return fmt.Errorf("scenario %s: %w", s.Name(), err)
}

// load reads the files that the parameters name.
func load(s scenario.Scenario, params any, node strict.Node, from origins) error {
	loader, ok := s.(scenario.Loader)
	if !ok {
		return nil
	}
	if err := loader.Load(params); err != nil {
		return blame(err, s, node, from)
	}
	return nil
}

// check holds the parameters against their bounds, and then asks the scenario.
func check(s scenario.Scenario, params any, versions map[string]string) error {
	if err := scenario.CheckBounds(params); err != nil {
		return err
	}
	return s.Check(params, versions)
}

// shares says whether a run may use a cluster beside others: not when its script
// disturbs the cluster itself or decides over its istiod, nor, where controllers under test watch the whole
// cluster as processes do, when it brings any.
func shares(s scenario.Scenario, params any, on cluster.Capabilities) bool {
	exclusive, ok := s.(scenario.Exclusive)
	if ok && exclusive.Exclusive(params) || slices.Contains(s.Needs(params), cluster.ScriptedMesh) {
		return false
	}
	return on.Has(cluster.Kubelet) || len(s.Components(on)) == 0
}

func topField(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

// SplitVersion takes apart "directory@base"; a plain version has no directory.
func SplitVersion(v string) (dir, version string) { return scenario.SplitVersion(v) }

// ModelVersions are the versions that models are asked for: those of releases,
// and of a directory the release that it is said to be based on.
func ModelVersions(versions map[string]string) map[string]string {
	out := map[string]string{}
	for component, v := range versions {
		out[component] = scenario.ModelVersion(v)
	}
	return out
}
