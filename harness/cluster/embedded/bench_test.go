//go:build linux

package embedded_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/measure"
	"reckon.dev/reckon/harness/toolchain"
)

const pairs = 5

// BenchmarkClusterUp makes and removes clusters in turn with kwokctl, of the
// same binaries. Ours has TLS in front of etcd too, and is up when its nodes are
// ready; kwokctl's has no nodes.
func BenchmarkClusterUp(b *testing.B) {
	dir := os.Getenv("RECKON_TEST_BINARIES")
	if dir == "" {
		b.Skip("RECKON_TEST_BINARIES is not set: it names a directory that holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok")
	}
	cfg := embedded.Config{Root: b.TempDir(), Binaries: embedded.BinariesIn(dir)}
	other := newKwokctl(b, cfg.Binaries)
	// Not measured: the digests that a caller with a cache of builds has, and
	// the reading of the binaries from the disk.
	first, err := embedded.Up(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	cfg.Digests = map[string]string{}
	for fact, digest := range first.Facts() {
		if component, ok := strings.CutPrefix(fact, "digest/"); ok {
			cfg.Digests[component] = digest
		}
	}
	if err := first.Down(b.Context()); err != nil {
		b.Fatal(err)
	}
	var up, down, otherUp, otherDown, ratio measure.Numbers
	for b.Loop() {
		for i := range pairs {
			upAndDown(b, cfg, &up, &down)
			name := fmt.Sprintf("bench-%d", i)
			otherUp.Time(func() { err = other.create(b.Context(), name) })
			if err != nil {
				b.Fatal(err)
			}
			otherDown.Time(func() { err = other.delete(b.Context(), name) })
			if err != nil {
				b.Fatal(err)
			}
			ratio = append(ratio, up[len(up)-1]/otherUp[len(otherUp)-1])
		}
	}
	measure.HideTime(b)
	up.Report(b, "up_s")
	down.Report(b, "down_s")
	otherUp.Report(b, "kwokctl_up_s")
	otherDown.Report(b, "kwokctl_down_s")
	ratio.Report(b, "up/kwokctl_up")
}

func upAndDown(b *testing.B, cfg embedded.Config, up, down *measure.Numbers) {
	b.Helper()
	var c *embedded.Cluster
	var err error
	up.Time(func() { c, err = embedded.Up(b.Context(), cfg) })
	if err != nil {
		b.Fatal(err)
	}
	down.Time(func() { err = c.Down(b.Context()) })
	if err != nil {
		b.Fatal(err)
	}
}

// kwokctl is the program, with everything that it writes below one directory.
type kwokctl struct {
	path, dir string
	binaries  embedded.Binaries
}

const kwokctlConfig = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokctlConfiguration
options: {bindAddress: 127.0.0.1}
`

func newKwokctl(b *testing.B, binaries embedded.Binaries) *kwokctl {
	b.Helper()
	artifact, err := (&toolchain.Builder{}).Build(b.Context(), toolchain.Request{Component: "kwokctl"})
	if err != nil {
		b.Fatal(err)
	}
	k := &kwokctl{dir: b.TempDir(), binaries: binaries}
	if k.path, err = artifact.Path("kwokctl"); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(k.file("config.yaml"), []byte(kwokctlConfig), 0o600); err != nil {
		b.Fatal(err)
	}
	return k
}

func (k *kwokctl) file(name string) string { return filepath.Join(k.dir, name) }

func (k *kwokctl) create(ctx context.Context, name string) error {
	err := k.run(ctx, "create", "cluster", "--name", name, "--runtime", "binary", "--wait", "2m",
		"--etcd-binary", k.binaries.Etcd, "--kube-apiserver-binary", k.binaries.APIServer,
		"--kube-controller-manager-binary", k.binaries.ControllerManager, "--kube-scheduler-binary", k.binaries.Scheduler,
		"--kwok-controller-binary", k.binaries.Kwok)
	if err != nil {
		// Its processes outlive it, and us.
		_ = k.delete(context.WithoutCancel(ctx), name)
	}
	return err
}

func (k *kwokctl) delete(ctx context.Context, name string) error {
	return k.run(ctx, "delete", "cluster", "--name", name)
}

func (k *kwokctl) run(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	args = append(args, "--config", k.file("config.yaml"), "--kubeconfig", k.file("kubeconfig"))
	cmd := exec.CommandContext(ctx, k.path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.file("home"), "KWOK_WORKDIR=" + k.file("work")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kwokctl %s: %w\n%s", args[0], err, out)
	}
	return nil
}
