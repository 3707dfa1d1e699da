package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// layout knows where things are in the directory of one cluster.
//
//	<root>/<name>/cluster.json   what the cluster is
//	              kubeconfig     for people and programs, administrator
//	              mark/          mounted into every node: this is how we know ours
//	<root>/.logs/<name>/         of a cluster that did not come up
type layout struct{ dir string }

func (l layout) state() string      { return filepath.Join(l.dir, "cluster.json") }
func (l layout) kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) mark() string       { return filepath.Join(l.dir, "mark") }

func layoutOf(root, name string) layout { return layout{filepath.Join(root, name)} }

func logDir(root, name string) string { return filepath.Join(root, ".logs", name) }

// markedName is the cluster that a mark belongs to, if it is one of this root.
func markedName(root, mark string) (string, bool) {
	rest, ok := strings.CutPrefix(mark, root+string(filepath.Separator))
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(rest, string(filepath.Separator)+"mark")
	return name, ok && cluster.CheckName(name) == nil
}

// Phases of a cluster.
const (
	phaseCreating = "creating"
	phaseReady    = "ready"
)

// state is cluster.json: enough for another process to list and clean up.
type state struct {
	Name       string            `json:"name"`
	Phase      string            `json:"phase"`
	Created    time.Time         `json:"created"`
	Owner      process.Identity  `json:"owner"`
	Detached   bool              `json:"detached"`
	Nodes      int               `json:"nodes"`
	Image      string            `json:"image"`
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// abandoned says whether nobody will ever take this cluster down.
func (s *state) abandoned() bool {
	return !s.Owner.Alive() && (!s.Detached || s.Phase != phaseReady)
}

// write replaces the file: readers see it whole.
func (s *state) write(l layout) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.state()+".next", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(l.state()+".next", l.state())
}

// readStates reads every cluster below a root.
func readStates(root string) (map[string]*state, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]*state{}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || cluster.CheckName(e.Name()) != nil {
			continue
		}
		raw, err := os.ReadFile(layoutOf(root, e.Name()).state())
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		s := &state{}
		if err == nil {
			err = json.Unmarshal(raw, s)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", layoutOf(root, e.Name()).state(), err))
			continue
		}
		out[e.Name()] = s
	}
	return out, errors.Join(errs...)
}

// claim makes the cluster's directory: a name is taken or it is not.
func (s *state) claim(root string) error {
	l := layoutOf(root, s.Name)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(root, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(layout{temp}.mark(), 0o700); err != nil {
		return err
	}
	if err := s.write(layout{temp}); err != nil {
		return err
	}
	if err := os.Rename(temp, l.dir); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: there is a cluster %s in %s already", ErrNameTaken, s.Name, root)
		}
		return err
	}
	return nil
}
