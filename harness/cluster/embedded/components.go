package embedded

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// Names of the processes, of their logs and of their binaries.
const (
	etcdName              = "etcd"
	apiServerName         = cluster.APIServer
	controllerManagerName = cluster.ControllerManager
	schedulerName         = "kube-scheduler"
	kwokName              = "kwok"
)

func componentNames() []string {
	return []string{etcdName, apiServerName, controllerManagerName, schedulerName, kwokName}
}

// Names of the ports. kwok has none: its server is off.
const (
	portEtcd              = "etcd"
	portEtcdPeer          = "etcd-peer"
	portAPIServer         = "kube-apiserver"
	portControllerManager = "kube-controller-manager"
	portScheduler         = "kube-scheduler"
)

// portsOf lists the ports that each component listens on.
func portsOf(component string) []string {
	switch component {
	case etcdName:
		return []string{portEtcd, portEtcdPeer}
	case apiServerName:
		return []string{portAPIServer}
	case controllerManagerName:
		return []string{portControllerManager}
	case schedulerName:
		return []string{portScheduler}
	}
	return nil
}

func portNames() []string {
	var names []string
	for _, component := range componentNames() {
		names = append(names, portsOf(component)...)
	}
	return names
}

// blueprint turns what is known about a cluster into command lines.
type blueprint struct {
	name  string
	lay   layout
	ports map[string]int
	bins  map[string]string
}

func (b blueprint) url(port string) string {
	return fmt.Sprintf("https://%s:%d", loopback, b.ports[port])
}

func (b blueprint) spec(component string) process.Spec {
	spec := process.Spec{
		Name:    component,
		Path:    b.bins[component],
		Dir:     b.lay.dir,
		LogPath: b.lay.log(component),
		// A home of its own: kwok reads ~/.kwok/kwok.yaml, client-go ~/.kube.
		Env: []string{"HOME=" + b.lay.dir},
	}
	switch component {
	case etcdName:
		spec.Args = b.etcd()
		if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			spec.Env = append(spec.Env, "ETCD_UNSUPPORTED_ARCH="+runtime.GOARCH)
		}
	case apiServerName:
		spec.Args = b.apiServer()
		// A quarter of the CPU time of a start is garbage collection. This costs
		// 100 MB; the limit keeps a long drill from growing on.
		spec.Env = append(spec.Env, "GOGC=400", "GOMEMLIMIT=512MiB")
	case controllerManagerName:
		spec.Args = b.controllerManager()
	case schedulerName:
		spec.Args = b.scheduler()
	case kwokName:
		spec.Args = b.kwok()
	}
	return spec
}

func (b blueprint) etcd() []string {
	client, peer := b.url(portEtcd), b.url(portEtcdPeer)
	return []string{
		"--name=" + b.name,
		"--data-dir=" + b.lay.etcdData(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--client-cert-auth=true",
		"--trusted-ca-file=" + b.lay.cert(certEtcdCA),
		"--cert-file=" + b.lay.cert(certEtcd),
		"--key-file=" + b.lay.key(certEtcd),
		// There is no peer, but etcd cannot do without the listener.
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + b.name + "=" + peer,
		"--initial-cluster-token=" + b.name,
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + b.lay.cert(certEtcdCA),
		"--peer-cert-file=" + b.lay.cert(certEtcdPeer),
		"--peer-key-file=" + b.lay.key(certEtcdPeer),
		// The data is thrown away: after a power cut nobody wants it back.
		"--unsafe-no-fsync=true",
		// A member that is alone elects itself after one tick.
		"--heartbeat-interval=10",
		"--election-timeout=100",
		"--log-level=warn",
	}
}

func (b blueprint) apiServer() []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(b.ports[portAPIServer]),
		// Without it the server looks for a default route and dies without one.
		// Endpoints must not be loopback addresses, so the "kubernetes" Service
		// has none: nothing runs in a pod that could use it.
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + b.lay.cert(certAPIServer),
		"--tls-private-key-file=" + b.lay.key(certAPIServer),
		"--client-ca-file=" + b.lay.cert(certCA),
		"--anonymous-auth=false",
		"--etcd-servers=" + b.url(portEtcd),
		"--etcd-cafile=" + b.lay.cert(certEtcdCA),
		"--etcd-certfile=" + b.lay.cert(certEtcdClient),
		"--etcd-keyfile=" + b.lay.key(certEtcdClient),
		// As kubeadm has it. All default admission plugins stay on.
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--service-account-issuer=https://kubernetes.default.svc." + serviceDomain,
		"--service-account-key-file=" + b.lay.cert(certSigning),
		"--service-account-signing-key-file=" + b.lay.key(certSigning),
		"--profiling=false",
	}
}

func (b blueprint) controllerManager() []string {
	conf := b.lay.componentConf(controllerManagerName)
	return append(b.serving(portControllerManager, conf),
		"--kubeconfig="+conf,
		"--leader-elect=false",
		// As kubeadm has it: each controller acts with its own rights.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+b.lay.key(certSigning),
		"--root-ca-file="+b.lay.cert(certCA),
		"--cluster-signing-cert-file="+b.lay.cert(certCA),
		"--cluster-signing-key-file="+b.lay.key(certCA),
		fmt.Sprintf("--kube-api-qps=%d", componentQPS),
		fmt.Sprintf("--kube-api-burst=%d", 2*componentQPS),
		"--"+hpaSyncPeriodFlag+"="+hpaSyncPeriod,
	)
}

// The default of 15 s would make a drill about autoscaling wait three times as
// long. The flag is the fact's name too.
const (
	hpaSyncPeriodFlag = "horizontal-pod-autoscaler-sync-period"
	hpaSyncPeriod     = "5s"
)

// The default of 20 calls a second would make drills measure the throttling of
// the controller manager instead of the controller under test.
const componentQPS = 5000

func (b blueprint) scheduler() []string {
	conf := b.lay.componentConf(schedulerName)
	return append(b.serving(portScheduler, conf), "--config="+b.lay.config("scheduler.yaml"))
}

// serving are the flags of a health and metrics port on loopback. Whoever has a
// certificate of the cluster is authenticated, authorization asks the API.
func (b blueprint) serving(port, conf string) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(b.ports[port]),
		"--tls-cert-file=" + b.lay.cert(certServing),
		"--tls-private-key-file=" + b.lay.key(certServing),
		"--client-ca-file=" + b.lay.cert(certCA),
		"--authentication-kubeconfig=" + conf,
		"--authentication-skip-lookup=true",
		"--authorization-kubeconfig=" + conf,
		"--profiling=false",
	}
}

// schedulerConfig is a file because the flags for it are deprecated.
func (b blueprint) schedulerConfig() []byte {
	return fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %q
  qps: %d
  burst: %d
leaderElection:
  leaderElect: false
enableProfiling: false
`, filepath.ToSlash(b.lay.componentConf(schedulerName)), componentQPS, 2*componentQPS)
}

func (b blueprint) kwok() []string {
	return []string{
		"--kubeconfig=" + b.lay.componentConf(kwokName),
		"--config=" + b.lay.config("kwok.yaml"),
		"--cidr=" + podCIDR,
	}
}
