package kind

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
)

// ErrNoEngine: no container engine answers.
var ErrNoEngine = errors.New("no container engine answers")

// engine is a container engine by its command line, which is the same for all
// that kind knows.
type engine struct{ name string }

// engines in the order in which kind looks for them (pkg/cluster/provider.go).
var engines = []string{"docker", "nerdctl", "podman"}

// findEngine returns the first that answers, or the one that kind's own
// environment variable names.
func findEngine(ctx context.Context) (engine, error) {
	names := engines
	if name := os.Getenv("KIND_EXPERIMENTAL_PROVIDER"); name != "" {
		names = []string{name}
	}
	var said []string
	for _, name := range names {
		e := engine{name}
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		_, err := e.run(ctx, "info", "--format", "{{.ID}}")
		if err == nil || name == "podman" && e.answers(ctx) { // podman's info has other fields
			return e, nil
		}
		if ctx.Err() != nil {
			break
		}
		said = append(said, err.Error())
	}
	if ctx.Err() != nil {
		return engine{}, fmt.Errorf("looking for a container engine: %w", context.Cause(ctx))
	}
	if len(said) == 0 {
		return engine{}, fmt.Errorf("%w: none of %s is installed", ErrNoEngine, strings.Join(names, ", "))
	}
	return engine{}, fmt.Errorf("%w: %s", ErrNoEngine, strings.Join(said, "; "))
}

func (e engine) answers(ctx context.Context) bool {
	_, err := e.run(ctx, "info")
	return err == nil
}

// provider is kind's for this engine.
func (e engine) provider(log *logger) *kindcluster.Provider {
	option := map[string]kindcluster.ProviderOption{
		"docker": kindcluster.ProviderWithDocker(), "podman": kindcluster.ProviderWithPodman(), "nerdctl": kindcluster.ProviderWithNerdctl(""),
	}[e.name]
	return kindcluster.NewProvider(kindcluster.ProviderWithLogger(log), option)
}

// errNoAnswer: a command did not end within its limit.
var errNoAnswer = errors.New("no answer")

// limit is how long a command may take, far beyond what it takes on a busy machine:
// an engine that hangs keeps nobody for ever. 0 is none, for "wait", whose answer
// is the end of a node.
func limit(command string) time.Duration {
	switch command {
	case "wait":
		return 0
	case "pull": // half a gigabyte, over any line
		return 30 * time.Minute
	case "load":
		return 10 * time.Minute
	case "run": // unpacks the image the first time
		return 3 * time.Minute
	case "rm", "rmi":
		return time.Minute
	}
	return 30 * time.Second // a question
}

// run returns what a command prints. An error holds what it says.
func (e engine) run(ctx context.Context, args ...string) (string, error) {
	return e.within(ctx, limit(args[0]), args...)
}

func (e engine) within(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s %s: %w within %s: does the container engine hang?", e.name, args[0], errNoAnswer, limit))
		defer cancel()
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, e.name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A group of its own: the terminal's interrupt is for us, and the commands
	// that clean up after it must not get it. Between its fork and its move into
	// that group a child still gets it: see twice.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if err == nil {
		return strings.TrimSpace(stdout.String()), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", fmt.Errorf("%s %s: %w: %s", e.name, args[0], err, lastLines(stderr.String()))
}

// lastLines are the last things that a command said, on one line, without its
// advice on how to get help.
func lastLines(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Run '") && !strings.HasPrefix(line, "See '") && !strings.HasPrefix(line, "exit status") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-3):], "; ")
}

// cgroupVersion is 1 or 2: that of the engine's machine, which need not be this one.
func (e engine) cgroupVersion(ctx context.Context) (int, error) {
	format := "{{.CgroupVersion}}"
	if e.name == "podman" {
		format = "{{.Host.CgroupsVersion}}"
	}
	out, err := e.run(ctx, "info", "--format", format)
	if _, said := errors.AsType[*exec.ExitError](err); err != nil && !said {
		return 0, err
	}
	if strings.HasSuffix(out, "1") {
		return 1, nil
	}
	return 2, nil
}

// version is recorded as a fact.
func (e engine) version(ctx context.Context) string {
	out, err := e.run(ctx, "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return "unknown"
	}
	return out
}

// imageID is "" for an image that the engine does not have.
func (e engine) imageID(ctx context.Context, ref string) (string, error) {
	out, err := e.run(ctx, "image", "inspect", "--format", "{{.Id}}", ref)
	if _, said := errors.AsType[*exec.ExitError](err); err != nil && !said {
		return "", err // it did not answer
	}
	return out, nil
}

// container is a node of some kind cluster.
type container struct {
	ID      string
	Name    string
	Cluster string
	Mark    string // directory of ours that is mounted, or ""
	Running bool
}

// Labels that kind gives its nodes (pkg/cluster/internal/providers/docker/constants.go),
// and where our mark is mounted.
const (
	clusterLabel = "io.x-k8s.kind.cluster"
	markMount    = "/reckon"
)

// nodes lists the nodes of all kind clusters of the engine, ours or not.
func (e engine) nodes(ctx context.Context) ([]container, error) {
	ids, err := e.run(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+clusterLabel)
	if err != nil || ids == "" {
		return nil, err
	}
	var out []container
	for id := range strings.FieldsSeq(ids) {
		c, err := e.node(ctx, id)
		if err != nil { // it may be there: whoever removes must not take it for gone
			return nil, err
		}
		out = append(out, c...)
	}
	return out, nil
}

// node is a container that was listed, or nothing if it is gone. One that the engine
// lists and does not know is being made: docker lists it before it fills its volumes,
// and knows it only afterwards (moby daemon/create.go, setHostConfig and Register).
// Whose it is cannot be told until then.
func (e engine) node(ctx context.Context, id string) ([]container, error) {
	deadline := time.After(limit("run"))
	for {
		raw, err := e.run(ctx, "inspect", "--type", "container", id)
		if err == nil {
			c, err := parseContainer(raw)
			if err != nil {
				return nil, fmt.Errorf("%s inspect: %w", e.name, err)
			}
			return c, nil
		}
		if !isGone(err) {
			return nil, err
		}
		listed, err := e.run(ctx, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+clusterLabel)
		if err != nil || !slices.Contains(strings.Fields(listed), id) {
			return nil, err
		}
		select {
		case <-time.After(look):
		case <-deadline:
			return nil, fmt.Errorf("%s has been making container %s for %s: does it hang?", e.name, id, limit("run"))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look is the time between two looks at something that has no event.
const look = 100 * time.Millisecond

// isGone says whether an engine said that there is no such container.
func isGone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no such object") || strings.Contains(text, "no such container")
}

// parseContainer reads what inspect prints.
func parseContainer(raw string) ([]container, error) {
	var all []struct {
		ID     string `json:"Id"`
		Name   string
		State  struct{ Running bool }
		Config struct{ Labels map[string]string }
		Mounts []struct{ Source, Destination string }
	}
	if err := json.Unmarshal([]byte(raw), &all); err != nil {
		return nil, err
	}
	var out []container
	for _, c := range all {
		found := container{ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), Cluster: c.Config.Labels[clusterLabel], Running: c.State.Running}
		for _, m := range c.Mounts {
			if m.Destination == markMount {
				found.Mark = m.Source
			}
		}
		out = append(out, found)
	}
	return out, nil
}

// remove removes containers with their volumes. One that is gone is fine.
func (e engine) remove(ctx context.Context, nodes []container) error {
	if len(nodes) == 0 {
		return nil
	}
	args := []string{"rm", "--force", "--volumes"}
	for _, n := range nodes {
		args = append(args, n.ID)
	}
	if _, err := e.run(ctx, args...); err != nil {
		return fmt.Errorf("%s is not removed: %w", names(nodes), err)
	}
	return nil
}

func names(nodes []container) string {
	var out []string
	for _, n := range nodes {
		out = append(out, cmp.Or(n.Name, n.ID))
	}
	return strings.Join(out, ", ")
}
