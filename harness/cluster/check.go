package cluster

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Names of nodes and processes are those of the cluster and more, and a host name
// has 63 characters at most (RFC 1123).
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName refuses what cannot be the name of a cluster.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %q is not 1 to 40 small letters, digits and inner dashes", name)
	}
	return nil
}

// MaxWorkers bounds the nodes of a cluster of containers beside its control plane's:
// they are containers of one machine, each with a kubelet, a containerd and a
// kube-proxy of its own, about 300 MB and some 20,000 inotify watches.
const MaxWorkers = 7

// CheckWorkers refuses what is no number of workers.
func CheckWorkers(n int) error {
	if n < 0 || n > MaxWorkers {
		return fmt.Errorf("%d is no number of workers, expected 0 to %d: all nodes are containers of one machine, and each takes about 300 MB", n, MaxWorkers)
	}
	return nil
}

// CheckNodeImage refuses what is no way to an image of nodes: neither empty, auto
// nor build, nor the reference of an image. What begins with a dash would be an
// option of the engine's command.
func CheckNodeImage(want string) error {
	if want == "" || want == "auto" || want == "build" {
		return nil
	}
	if _, err := name.ParseReference(want); err != nil || strings.HasPrefix(want, "-") {
		return fmt.Errorf("%q is no image of nodes, expected auto, build or a reference such as kindest/node:v1.34.2", want)
	}
	return nil
}
