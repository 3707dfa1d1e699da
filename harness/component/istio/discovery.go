package istio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/stage"
)

// InstallCRDs applies the CRDs of Istio's base and makes the namespace, which is
// all that istiod as a process wants of a cluster. Without the CRDs it would start
// too, and find them at some time during the run.
func InstallCRDs(ctx context.Context, config *rest.Config, assets string) error {
	client, err := incluster.New(config)
	if err != nil {
		return err
	}
	crds, err := incluster.ReadManifests(filepath.Join(assets, "manifests", "charts", "base", "files", "crd-all.gen.yaml"))
	if err != nil {
		return fmt.Errorf("no CRDs of Istio, rebuild the component: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error { return client.ApplyCRD(ctx, crd) })
	}
	group.Go(func() error { return client.EnsureNamespace(ctx, Namespace) })
	return group.Wait()
}

// mesh is the mesh configuration of processes. OFF is quoted, or YAML 1.1 makes it
// false; without it istiod elects a leader for its ingress controller.
const mesh = `ingressControllerMode: "OFF"
trustDomain: cluster.local
`

// meshFile is its name among the logs.
const meshFile = "istiod-mesh.yaml"

// ports of a replica, all on loopback.
type ports struct{ http, xds, metrics int }

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// command is that of a replica. What no drill uses is off: CA, injector, webhooks
// and gateways; TLS with them, since without a CA there is none (pilot/pkg/bootstrap/server.go,
// 1.31). A name of its own makes it its own candidate in elections of leaders.
func (p *Processes) command(name string, at ports) process.Spec {
	args := []string{
		"discovery", "--kubeconfig=" + p.cfg.Kubeconfig, "--meshConfig=" + filepath.Join(p.cfg.Dir, meshFile), "--namespace=" + Namespace,
		"--httpAddr=" + loopback(at.http), "--grpcAddr=" + loopback(at.xds), "--monitoringAddr=" + loopback(at.metrics),
		"--secureGRPCAddr=", "--httpsAddr=", "--ctrlz_port=0",
	}
	if p.spec.ConnectionAge > 0 {
		args = append(args, "--keepaliveMaxServerConnectionAge="+p.spec.ConnectionAge.String())
	}
	env := []string{
		"POD_NAME=" + name, "POD_NAMESPACE=" + Namespace, "REVISION=default", "CLUSTER_ID=Kubernetes",
		"ENABLE_CA_SERVER=false", "PILOT_CERT_PROVIDER=none",
		"INJECT_ENABLED=false", "INJECTION_WEBHOOK_CONFIG_NAME=", "VALIDATION_WEBHOOK_CONFIG_NAME=",
		"PILOT_ENABLE_GATEWAY_API=false", "PILOT_ENABLE_ANALYSIS=false", "PILOT_ENABLE_IP_AUTOALLOCATE=false", "PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS=false",
		"PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION=false", "PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS=false",
	}
	if !p.spec.OwnProcs {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(cpus(p.spec)))
	}
	env = append(append(env, limitEnv(p.spec)...), memoryEnv(p.spec)...)
	return process.Spec{
		Name: name, Path: p.binary, Args: append(args, p.spec.Args...), Env: env, Dir: p.cfg.Dir,
		LogPath: filepath.Join(p.cfg.Dir, name+".log"),
	}
}

// cpus is GOMAXPROCS, which the chart sets to a limit on CPU, rounded up.
func cpus(spec stage.Istiod) int {
	if spec.CPULimit > 0 {
		return quota.Limit(spec.CPULimit).ChartProcs()
	}
	return max(spec.CPUs, 1)
}

// requestLimit is the variable of the limit on new streams.
const requestLimit = "PILOT_MAX_REQUESTS_PER_SECOND"

func limitEnv(spec stage.Istiod) []string {
	if spec.RequestLimit == 0 {
		return nil
	}
	return []string{requestLimit + "=" + number(spec.RequestLimit)}
}

// memoryEnv is what istiod would tell itself in a pod with such a limit: automemlimit,
// which its main package imports, sets nine tenths of it
// (pilot/cmd/pilot-discovery/main.go:21, 1.31; automemlimit v0.7.5, memlimit.go:20).
func memoryEnv(spec stage.Istiod) []string {
	if spec.MemoryLimit == 0 {
		return nil
	}
	return []string{"GOMEMLIMIT=" + strconv.FormatInt(spec.MemoryLimit/10*9, 10)}
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (p *Processes) writeMesh() error {
	if err := os.WriteFile(filepath.Join(p.cfg.Dir, meshFile), []byte(mesh), 0o600); err != nil {
		return fmt.Errorf("istiod's mesh configuration: %w", err)
	}
	return nil
}

// checkSpec refuses what istiod would take for something else.
func checkSpec(spec stage.Istiod) error {
	switch {
	case spec.Replicas < 1:
		return fmt.Errorf("%d replicas of istiod, expected 1 or more", spec.Replicas)
	case spec.ConnectionAge < 0:
		return fmt.Errorf("connection age %s, expected a positive one, or 0 for istiod's own", spec.ConnectionAge)
	case spec.RequestLimit < 0:
		return errors.New("a negative request limit, which istiod takes for its own default")
	case spec.CPULimit < 0:
		return fmt.Errorf("a CPU limit of %d thousandths of a core, expected more than 0, or 0 for none", spec.CPULimit)
	case spec.MemoryLimit < 0:
		return fmt.Errorf("memory limit %d, expected a positive one in bytes, or 0 for none", spec.MemoryLimit)
	}
	return nil
}
