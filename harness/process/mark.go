package process

import (
	"strings"
)

// The environment variables that mark a child as ours. They are how a clean-up
// finds a process whose parent, state file and directory are all gone.
const (
	EnvCluster = "RECKON_CLUSTER" // name of the cluster
	EnvRoot    = "RECKON_ROOT"    // state directory that the cluster belongs to
	EnvOwner   = "RECKON_OWNER"   // identity of the program that started it
	EnvProcess = "RECKON_PROCESS" // Spec.Name
)

// Mark says whose child a process is.
type Mark struct {
	Cluster string
	Root    string
	Owner   Identity
	Name    string
}

// env renders the mark for a child's environment.
func (m Mark) env() []string {
	return []string{
		EnvCluster + "=" + m.Cluster,
		EnvRoot + "=" + m.Root,
		EnvOwner + "=" + m.Owner.String(),
		EnvProcess + "=" + m.Name,
	}
}

// parseMark reads a mark from an environment. All four variables have to be
// there: a single one may well be exported by a user's shell.
func parseMark(environ []string) (Mark, bool) {
	var m Mark
	found := 0
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		switch key {
		case EnvCluster:
			m.Cluster = value
		case EnvRoot:
			m.Root = value
		case EnvProcess:
			m.Name = value
		case EnvOwner:
			owner, err := ParseIdentity(value)
			if err != nil {
				return Mark{}, false
			}
			m.Owner = owner
		default:
			continue
		}
		found++
	}
	return m, found == 4 && m.Cluster != ""
}

// Stray is a running process that carries a mark.
type Stray struct {
	Identity Identity
	Mark     Mark
	Command  string
}
