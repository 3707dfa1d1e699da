// Package campaign is about the runs of one command as a whole: what was set out to
// be done, what of it is done, what is left after an interruption, and how long that
// will take.
package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"reckon.dev/reckon/harness/durable"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/plan"
)

// Format names the schema of campaign.json.
const Format = "reckon/campaign/v1"

// Latest stands for the campaign that began last.
const Latest = "latest"

// Files of a campaign's directory, which is below results/campaigns.
const (
	campaignsDir = "campaigns"
	manifestFile = "campaign.json"
	lockFile     = "lock"
)

// Manifest is what a campaign set out to do. It is written once, before anything
// is built; what became of it is in the directories of its runs.
type Manifest struct {
	Format string `json:"format"`
	ID     string `json:"id"`
	// Began is when it was begun, Reckon the version of reckon that did.
	Began  time.Time `json:"began"`
	Reckon string    `json:"reckon"`
	// Drill and Overrides are what the plan was made of, so that it can be made again.
	Drill     string         `json:"drill"`
	Overrides plan.Overrides `json:"overrides"`
	PlanHash  string         `json:"planHash"`
	// Plan is all of it, and Chosen the names of the cells that filters left.
	Plan   *plan.Plan `json:"plan"`
	Chosen []string   `json:"chosen"`
	// Keys are what models predicted of the chosen cells, by name.
	Keys map[string]Key `json:"keys"`
}

// Cells are those that were chosen.
func (m *Manifest) Cells() []plan.Cell {
	var out []plan.Cell
	for _, c := range m.Plan.Cells {
		if slices.Contains(m.Chosen, c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// All are the runs of the chosen cells, as none of them has begun.
func (m *Manifest) All() []Left {
	var out []Left
	for _, c := range m.Cells() {
		for n := 1; n <= c.Repeat; n++ {
			out = append(out, Left{Cell: c, Repetition: n})
		}
	}
	return out
}

// Runs is how many runs there are.
func (m *Manifest) Runs() int { return len(m.All()) }

// Campaign is one that this process holds: no other can run a part of it.
type Campaign struct {
	Manifest
	hold *hold
}

// Begin writes a new campaign below results, named by the time and the drill, and
// takes hold of it.
func Begin(results string, m Manifest, cells []plan.Cell) (*Campaign, error) {
	m.Format, m.PlanHash, m.Keys, m.Chosen = Format, m.Plan.Hash(), map[string]Key{}, nil
	for _, c := range cells {
		key, err := KeyOf(c)
		if err != nil {
			return nil, err
		}
		m.Chosen, m.Keys[c.Name] = append(m.Chosen, c.Name), key
	}
	dir, err := makeDir(results, m.Began.UTC().Format(engine.TimeFormat)+"-"+m.Plan.Drill)
	if err != nil {
		return nil, fmt.Errorf("making the campaign's directory: %w", err)
	}
	m.ID = filepath.Base(dir)
	h, err := take(dir)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(&m, "", "  ")
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, manifestFile), append(raw, '\n'))
	}
	if err != nil {
		h.release()
		return nil, fmt.Errorf("the campaign's manifest: %w", err)
	}
	return &Campaign{m, h}, nil
}

// makeDir makes a directory that was not there.
func makeDir(results, name string) (string, error) {
	parent := filepath.Join(results, campaignsDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(parent, name)
		if n > 1 {
			path = fmt.Sprintf("%s.%d", path, n)
		}
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// Resume takes hold of a campaign: by its id, as Latest, or by its drill, of which it
// is the one that began last. A *HeldError says that another process has it.
func Resume(results, name string) (*Campaign, error) {
	m, err := find(results, name)
	if err != nil {
		return nil, err
	}
	h, err := take(filepath.Join(results, campaignsDir, m.ID))
	if err != nil {
		return nil, err
	}
	return &Campaign{*m, h}, nil
}

// Release lets others resume the campaign.
func (c *Campaign) Release() { c.hold.release() }

func find(results, name string) (*Manifest, error) {
	all, err := List(results)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no campaign has begun in %s", results)
	}
	var names []string
	for _, m := range slices.Backward(all) {
		if name == Latest || name == m.ID || name == m.Plan.Drill || name == m.Drill {
			return m, nil
		}
		names = append(names, m.ID, m.Plan.Drill)
	}
	return nil, fmt.Errorf("no campaign %q in %s%s; `reckon campaigns` lists them", name, results, nearest.Hint(name, names))
}

// List reads the manifests of all campaigns, the one that began first first. A
// directory without a manifest is one whose campaign never began.
func List(results string) ([]*Manifest, error) {
	entries, err := os.ReadDir(filepath.Join(results, campaignsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*Manifest
	for _, e := range entries {
		m, err := read(filepath.Join(results, campaignsDir, e.Name(), manifestFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.ID = e.Name()
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b *Manifest) int { return a.Began.Compare(b.Began) })
	return out, nil
}

func read(file string) (*Manifest, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if m.Format != Format || m.Plan == nil {
		return nil, fmt.Errorf("%s has the format %q, expected %s: another version of reckon wrote it", file, m.Format, Format)
	}
	return m, nil
}
