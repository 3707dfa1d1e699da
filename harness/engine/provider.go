package engine

import (
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/scenario"
)

// Embedded is the provider of embedded clusters that run built parts, each in a
// directory of its own below root.
func Embedded(root string, parts Parts) (*embedded.Provider, error) {
	cfg := embedded.Config{Root: root, Versions: map[string]string{}, Digests: map[string]string{}}
	manager := scenario.Kubernetes
	if _, own := parts[scenario.ControllerManager]; own {
		manager = scenario.ControllerManager
	}
	for _, p := range []struct {
		component, program string
		path               *string
	}{
		{"etcd", "etcd", &cfg.Binaries.Etcd},
		{scenario.Kubernetes, "kube-apiserver", &cfg.Binaries.APIServer},
		{manager, "kube-controller-manager", &cfg.Binaries.ControllerManager},
		{scenario.Kubernetes, "kube-scheduler", &cfg.Binaries.Scheduler},
		{"kwok", "kwok", &cfg.Binaries.Kwok},
	} {
		path, err := parts.Path(p.component, p.program)
		if err != nil {
			return nil, err
		}
		*p.path = path
		artifact := parts[p.component]
		cfg.Versions[p.program] = artifact.Version
		for _, b := range artifact.Binaries {
			if b.Name == p.program {
				cfg.Digests[p.program] = "sha256:" + b.SHA256
			}
		}
	}
	return &embedded.Provider{Config: cfg}, nil
}
