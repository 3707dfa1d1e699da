package kind

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnfit: the engine's machine cannot run nodes.
var ErrUnfit = errors.New("nodes cannot run here")

// host is what a privileged container sees of the engine's machine, which may be
// another than this one.
type host struct {
	cgroup       int    // version
	capabilities uint64 // those that a privileged container gets
	instances    int    // fs.inotify.max_user_instances
	watches      int    // fs.inotify.max_user_watches
	files        int    // limit of open files
	memory       int64  // available, bytes
	disk         int64  // free for containers, bytes
}

// capSysResource is CAP_SYS_RESOURCE: without it nobody may raise a limit or lower
// an OOM score.
const capSysResource = 24

func (h host) lacksSysResource() bool { return h.capabilities>>capSysResource&1 == 0 }

// probeScript runs in the node image, whatever image that is.
const probeScript = `sed -n 's/^CapBnd:[[:space:]]*/caps /p' /proc/self/status
echo instances $(cat /proc/sys/fs/inotify/max_user_instances)
echo watches $(cat /proc/sys/fs/inotify/max_user_watches)
echo files $(ulimit -Hn)
echo memory $(sed -n 's/^MemAvailable:[[:space:]]*\([0-9]*\).*/\1/p' /proc/meminfo)
echo disk $(df -Pk / | tail -1 | tr -s ' ' | cut -d' ' -f4)
`

// probeLabel marks containers that look at the machine.
const probeLabel = "dev.reckon.probe"

// probe starts a privileged container of the image and looks around in it.
func (e engine) probe(ctx context.Context, root, image string) (host, error) {
	out, err := e.run(ctx, "run", "--rm", "--privileged", "--network", "none", "--label", probeLabel+"="+root,
		"--entrypoint", "/bin/sh", image, "-c", probeScript)
	if err != nil {
		if ctx.Err() != nil {
			return host{}, err
		}
		return host{}, fmt.Errorf("%w: %w%s", ErrUnfit, explain(err), privilegedHint(err))
	}
	h := parseProbe(out)
	h.cgroup, err = e.cgroupVersion(ctx)
	return h, err
}

// privilegedHint says what the engine's refusals mean.
func privilegedHint(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "unable to apply caps"):
		return "; the machine itself lacks a capability, so privileged containers need a runtime that does without it: see .ci/engine"
	case strings.Contains(text, "rivileged"):
		return "; nodes have to be privileged containers: let the engine allow them"
	}
	return ""
}

func parseProbe(out string) host {
	var h host
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64) // "unlimited" is 0
		switch key {
		case "caps":
			h.capabilities, _ = strconv.ParseUint(value, 16, 64)
		case "instances":
			h.instances = int(n)
		case "watches":
			h.watches = int(n)
		case "files":
			h.files = int(n)
		case "memory":
			h.memory = n << 10
		case "disk":
			h.disk = n << 10
		}
	}
	return h
}

// Finding is one thing that was looked at. What says in a line what it is, what
// that means and what to do about it.
type Finding struct {
	OK bool
	// Fatal: no cluster can come up.
	Fatal bool
	What  string
}

// What a node takes: kubelet, containerd and systemd watch files (kind's known
// issues, "too many open files", ask for 512 and 524288 for several nodes); a node
// with its control plane takes 1 GB.
const (
	instancesPerNode = 60
	watchesPerNode   = 20_000
	wantFiles        = 4096
	memoryFirstNode  = 1 << 30
	memoryPerNode    = 300 << 20
	wantDisk         = 3 << 30
)

// findings judges a machine for a number of nodes.
func (h host) findings(nodes int) []Finding {
	need := int64(memoryFirstNode + (nodes-1)*memoryPerNode)
	out := []Finding{
		atLeast("inotify instances", h.instances, instancesPerNode*nodes, "sysctl -w fs.inotify.max_user_instances=512", false),
		atLeast("inotify watches", h.watches, watchesPerNode*nodes, "sysctl -w fs.inotify.max_user_watches=524288", false),
		{OK: h.files == 0 || h.files >= wantFiles, What: fmt.Sprintf("%s open files allowed in a container, %d wanted (the engine's default-ulimits)", orUnlimited(h.files), wantFiles)},
		{OK: h.memory >= need, Fatal: h.memory < need/2, What: fmt.Sprintf("%d MB of memory available, %d MB wanted with %d node(s)", h.memory>>20, need>>20, nodes)},
		{OK: h.disk >= wantDisk, Fatal: h.disk < wantDisk/3, What: fmt.Sprintf("%d GB free on the engine's disk, %d GB wanted", h.disk>>30, int64(wantDisk)>>30)},
		{OK: true, What: cgroupMeans(h.cgroup)},
	}
	if h.lacksSysResource() {
		out = append(out, Finding{OK: true, What: "no CAP_SYS_RESOURCE, not even privileged: containers keep the OOM score of their node"})
	}
	return out
}

func orUnlimited(n int) string {
	if n == 0 {
		return "unlimited"
	}
	return strconv.Itoa(n)
}

func cgroupMeans(version int) string {
	if version == 1 {
		return "cgroup v1: kubelets are told to put up with it (failCgroupV1: false), and drive cgroups themselves"
	}
	return "cgroup v2"
}

func atLeast(what string, got, want int, remedy string, fatal bool) Finding {
	f := Finding{OK: got >= want, Fatal: fatal && got < want, What: fmt.Sprintf("%d %s, %d wanted", got, what, want)}
	if !f.OK {
		f.What += ": " + remedy
	}
	return f
}

// Examine is for doctor: the engine, and what a privileged container sees. That
// needs an image, and none is fetched for it.
func Examine(ctx context.Context, root string, nodes int) []Finding {
	e, err := findEngine(ctx)
	if err != nil {
		return []Finding{{Fatal: true, What: err.Error()}}
	}
	out := []Finding{{OK: true, What: fmt.Sprintf("container engine: %s %s", e.name, e.version(ctx))}}
	image, err := e.anyNodeImage(ctx)
	if err != nil {
		return append(out, Finding{Fatal: true, What: err.Error()})
	}
	if image == "" {
		return append(out, Finding{OK: true, What: "privileged containers and limits: seen once the engine has a node image (reckon cluster up --provider kind)"})
	}
	h, err := e.probe(ctx, root, image)
	if err != nil {
		return append(out, Finding{Fatal: true, What: err.Error()})
	}
	return append(append(out, Finding{OK: true, What: "privileged containers run"}), h.findings(nodes)...)
}

// anyNodeImage is a node image that the engine has, "" if none.
func (e engine) anyNodeImage(ctx context.Context) (string, error) {
	if id, err := e.imageID(ctx, pinnedImage("")); err != nil || id != "" {
		return id, err
	}
	out, err := e.run(ctx, "images", "--quiet", "--filter", "label="+ImageLabel)
	first, _, _ := strings.Cut(out, "\n")
	return first, err
}
