package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"reckon.dev/reckon/harness/process"
)

// Phases of a cluster.
const (
	phaseCreating = "creating"
	phaseReady    = "ready"
)

// state is cluster.json: enough for another process to list, stop and clean up.
type state struct {
	Name       string            `json:"name"`
	Phase      string            `json:"phase"`
	Created    time.Time         `json:"created"`
	Owner      process.Identity  `json:"owner"`
	Detached   bool              `json:"detached"`
	Nodes      int               `json:"nodes"`
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	Ports      map[string]int    `json:"ports"`
	Versions   map[string]string `json:"versions,omitempty"`
	Digests    map[string]string `json:"digests,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Processes  []processState    `json:"processes"`
}

type processState struct {
	Name     string           `json:"name"`
	Identity process.Identity `json:"identity"`
	Path     string           `json:"path"`
	Log      string           `json:"log"`
}

func (s *state) write(l layout) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(l.state(), append(data, '\n'))
}

func readState(dir string) (*state, error) {
	data, err := os.ReadFile(layout{dir}.state())
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", layout{dir}.state(), err)
	}
	return s, nil
}

// readStates reads every cluster below a root. Directories without a state file
// are not ours. Broken state files are reported, and do not hide the others.
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
	for _, entry := range entries {
		if !entry.IsDir() || isScratch(entry.Name()) {
			continue
		}
		s, err := readState(filepath.Join(root, entry.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[entry.Name()] = s
	}
	return out, errors.Join(errs...)
}

// running counts the processes that are alive.
func (s *state) running() int {
	n := 0
	for _, p := range s.Processes {
		if p.Identity.Alive() {
			n++
		}
	}
	return n
}

// abandoned says whether nobody will ever take this cluster down. A detached
// cluster has no owner once it is ready, and is of use as long as its store
// and its API server live.
func (s *state) abandoned() bool {
	if s.Owner.Alive() {
		return false
	}
	if !s.Detached || s.Phase != phaseReady {
		return true
	}
	alive := map[string]bool{}
	for _, p := range s.Processes {
		alive[p.Name] = alive[p.Name] || p.Identity.Alive()
	}
	return !alive[etcdName] || !alive[apiServerName]
}
