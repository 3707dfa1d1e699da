package plan

import (
	"errors"
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
)

// checkNeeds refuses a scenario on a provider that lacks what it needs with
// these parameters, before anything starts.
func checkNeeds(provider string, s scenario.Scenario, params any) error {
	missing := cluster.Offered(provider).Missing(s.Needs(params))
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("scenario %s needs %s, which provider %s does not offer", s.Name(), missing, provider)
}

// What the nodes of a cluster of containers take: a kubelet's pods, unless it is
// told otherwise (Kubernetes v1.37.2, pkg/kubelet/apis/config/v1beta1/defaults.go,
// MaxPods), less those of the control plane, of DNS, storage and the network's
// proxies, of istiod, a controller and whoever sends requests.
const (
	podsPerNode = 110
	systemPods  = 15
)

// checkFits refuses more pods than the nodes take: some would wait for ever. Beside
// workers the control plane's node takes none (kubeadm's taint).
func checkFits(cell *Cell, s scenario.Scenario, params any) error {
	sized, ok := s.(scenario.Sized)
	if !ok || !cluster.Offered(cell.Provider).Has(cluster.Kubelet) {
		return nil
	}
	nodes := max(1, cell.Nodes-1)
	room := nodes*podsPerNode - systemPods
	if most := sized.MostPods(params); most > room {
		return scenario.Refuse("replicas", "up to %d pods at a time, and %d node(s) of provider %s take %d: %d each, less %d of the system; fewer replicas, more workers, or provider %s",
			most, nodes, cell.Provider, room, podsPerNode, systemPods, cluster.Embedded)
	}
	return nil
}

// ErrKindDirectory refuses a directory in the place of a version of Kubernetes
// where the nodes' image brings it along.
var ErrKindDirectory = errors.New("provider kind runs a release of Kubernetes, as its node image has it: a directory is for provider embedded")

// checkSkewable refuses a controller manager of its own version, and a Kubernetes
// of one's own sources, where the control plane comes as one image.
func checkSkewable(cell *Cell) error {
	if _, own := cell.Versions[scenario.ControllerManager]; own && cell.Provider == cluster.Kind {
		return fmt.Errorf("provider %s runs the %s of its node image: a version of its own is for provider %s",
			cell.Provider, scenario.ControllerManager, cluster.Embedded)
	}
	if dir, _ := SplitVersion(cell.Versions[scenario.Kubernetes]); dir != "" && cell.Provider == cluster.Kind {
		return ErrKindDirectory
	}
	return nil
}
