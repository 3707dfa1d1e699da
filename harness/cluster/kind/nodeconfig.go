package kind

import (
	"fmt"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"reckon.dev/reckon/harness/model/kubeproxy"
)

// Networks of a cluster: kind's own defaults, stated since the CNI needs them.
const (
	podSubnet     = "10.244.0.0/16"
	serviceSubnet = "10.96.0.0/16"
)

// clusterConfig is what kind is asked for. CNI is left to us: kind's own needs an
// image, and all nodes stand on one network, so that a file each and a few routes do.
func clusterConfig(cfg Config, h host, image string) *v1alpha4.Cluster {
	c := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     cfg.Name,
		Networking: v1alpha4.Networking{
			APIServerAddress: "127.0.0.1", DisableDefaultCNI: true, PodSubnet: podSubnet, ServiceSubnet: serviceSubnet,
		},
		KubeadmConfigPatches: append(kubeletPatches(h), kubeProxyPatch()), ContainerdConfigPatches: containerdPatches(h),
	}
	for i := range cfg.Nodes {
		node := v1alpha4.Node{
			Role: v1alpha4.WorkerRole, Image: image,
			ExtraMounts: []v1alpha4.Mount{{HostPath: layoutOf(cfg.Root, cfg.Name).mark(), ContainerPath: markMount, Readonly: true}},
		}
		if i == 0 {
			node.Role = v1alpha4.ControlPlaneRole
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c
}

// kubeletPatches make kubelets start on cgroup v1, which Kubernetes 1.35 and later
// refuse otherwise. There, systemd in a container does not own the hierarchies, so
// kubelet and runc make cgroups themselves.
func kubeletPatches(h host) []string {
	if h.cgroup != 1 {
		return nil
	}
	return []string{"kind: KubeletConfiguration\nfailCgroupV1: false\ncgroupDriver: cgroupfs\n"}
}

// kubeProxyPatch lets kube-proxy say when it writes rules, and of what: a line for each
// change of a Service, and a few for each writing.
func kubeProxyPatch() string {
	return fmt.Sprintf("kind: KubeProxyConfiguration\nlogging:\n  verbosity: %d\n", kubeproxy.Verbosity)
}

// containerdPatches say each thing for both versions of containerd's
// configuration, since kind takes only those of the version that an image has.
func containerdPatches(h host) []string {
	var out []string
	for version, plugin := range map[int]string{2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime"} {
		patch := fmt.Sprintf("version = %d\n", version)
		if h.lacksSysResource() {
			patch += fmt.Sprintf("[plugins.%q]\n  restrict_oom_score_adj = true\n", plugin)
		}
		if h.cgroup == 1 {
			for _, runtime := range []string{"runc", "test-handler"} {
				patch += fmt.Sprintf("[plugins.%q.containerd.runtimes.%s.options]\n  SystemdCgroup = false\n", plugin, runtime)
			}
		}
		out = append(out, patch)
	}
	return out
}
