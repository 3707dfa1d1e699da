package toolchain

// nodeComponents are what a node of a real cluster is made of, beside the
// control plane.
func nodeComponents() []Component {
	return []Component{kubernetesNode(), containerd(), runc(), criTools(), cniPlugins(), coreDNS(), kind(), pause(), nodeRoot(), kindNode()}
}

// kubernetesNode is apart from kubernetes because embedded clusters do without.
func kubernetesNode() Component {
	c := kubernetes()
	c.Name, c.Pin = "kubernetes-node", "kubernetes-node"
	c.Programs = []Program{
		{Name: "kubelet", Package: "cmd/kubelet"},
		{Name: "kubeadm", Package: "cmd/kubeadm"},
		{Name: "kubectl", Package: "cmd/kubectl"},
		{Name: "kube-proxy", Package: "cmd/kube-proxy"},
	}
	return c
}

func containerd() Component {
	return Component{
		Name: "containerd", Module: "github.com/containerd/containerd/v2", Default: "v2.4.2", Pin: "containerd",
		Programs: []Program{
			{Name: "containerd", Package: "cmd/containerd"},
			{Name: "containerd-shim-runc-v2", Package: "cmd/containerd-shim-runc-v2"},
			{Name: "ctr", Package: "cmd/ctr"},
		},
		LDFlags: []string{"github.com/containerd/containerd/v2/version.Version={version}"},
		// Snapshotters that a node does not use, and whose packages are large.
		Tags:   []string{"no_aufs", "no_btrfs", "no_devmapper", "no_zfs"},
		Oldest: "v2.0.0",
		Known:  []string{"v2.4.2"},
	}
}

// runc enters namespaces in C. Without the seccomp tag it refuses pods that ask
// for the runtime's default profile, as Argo Rollouts' own manifests do.
func runc() Component {
	return Component{
		Name: "runc", Module: "github.com/opencontainers/runc", Default: "v1.5.3", Pin: "runc",
		Programs: []Program{{Name: "runc", Package: "."}},
		Tags:     []string{"seccomp", "netgo", "osusergo"},
		CGO:      true,
		Oldest:   "v1.2.0",
		Known:    []string{"v1.5.3"},
	}
}

func criTools() Component {
	return Component{
		Name: "crictl", Module: "sigs.k8s.io/cri-tools", Default: "v1.37.0", Pin: "crictl",
		Programs: []Program{{Name: "crictl", Package: "cmd/crictl"}},
		LDFlags:  []string{"sigs.k8s.io/cri-tools/pkg/version.Version={version}"},
		Oldest:   "v1.30.0",
		Known:    []string{"v1.37.0"},
	}
}

func cniPlugins() Component {
	return Component{
		Name: "cni-plugins", Module: "github.com/containernetworking/plugins", Default: "v1.9.1", Pin: "cni-plugins",
		Programs: []Program{
			{Name: "host-local", Package: "plugins/ipam/host-local"},
			{Name: "loopback", Package: "plugins/main/loopback"},
			{Name: "ptp", Package: "plugins/main/ptp"},
			{Name: "portmap", Package: "plugins/meta/portmap"},
		},
		LDFlags: []string{"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion={version}"},
		Oldest:  "v1.5.0",
		Known:   []string{"v1.9.1"},
	}
}

func coreDNS() Component {
	return Component{
		Name: "coredns", Module: "github.com/coredns/coredns", Default: "v1.14.3", Pin: "coredns", Recipe: RecipeOwn,
		Programs: []Program{{Name: "coredns", Package: "."}},
		Known:    []string{"v1.14.3"},
	}
}

// kind's module holds the files of its node images, of the version that makes
// the clusters (go.mod). The program is for people who want to look closer.
func kind() Component {
	var assets []string
	for _, dir := range []string{
		"etc", "etc/containerd", "etc/default", "etc/sysctl.d", "etc/systemd/system", "etc/systemd/system/kubelet.service.d",
		"kind", "kind/bin", "usr/local/bin",
	} {
		assets = append(assets, kindFiles+"/"+dir+"/*")
	}
	return Component{
		Name: "kind", Module: "sigs.k8s.io/kind", Default: "v0.33.0", Pin: "kind",
		Programs: []Program{{Name: "kind", Package: "."}},
		Assets:   assets,
		Oldest:   "v0.30.0",
		Known:    []string{"v0.33.0"},
	}
}

func pause() Component {
	return Component{
		Name: "pause", Module: "reckon.build/pause", Default: "v1.0.0", Recipe: RecipeOwn,
		Programs: []Program{{Name: "pause", Package: "."}},
		Known:    []string{"v1.0.0"},
	}
}

// nodeRoot is what kind's base image (images/base/Dockerfile, v0.33.0) installs,
// less what storage needs, and more: socat for port forwarding, ebtables.
func nodeRoot() Component {
	return Component{
		Name: "node-root", Module: "debian", Default: "v12.0.0", Recipe: RecipeDebian,
		Packages: []string{
			"systemd", "dbus", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod", "libseccomp2",
			"pigz", "e2fsprogs", "bash", "ca-certificates", "curl", "jq", "procps", "ebtables", "socat", "hostname",
		},
		Known: []string{"v12.0.0"},
	}
}

// kindNode's version is that of Kubernetes.
func kindNode() Component {
	k := kubernetes()
	return Component{
		Name: "kind-node", Module: k.Module, Default: k.Default, Recipe: RecipeNode, Oldest: k.Oldest, Known: k.Known,
	}
}
