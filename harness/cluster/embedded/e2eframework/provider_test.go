//go:build linux

package e2eframework

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"reckon.dev/reckon/harness/cluster/embedded"
)

func TestProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes; not with -short")
	}
	binaries := os.Getenv("RECKON_TEST_BINARIES")
	if binaries == "" {
		t.Skip("RECKON_TEST_BINARIES is not set: it names a directory that holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok")
	}
	p := New(embedded.Config{Root: t.TempDir()}).SetDefaults().WithName("e2e").WithPath(binaries)
	kubeconfig, err := p.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if kubeconfig != p.GetKubeconfig() || p.GetKubectlContext() != "e2e" {
		t.Errorf("%s, %s", kubeconfig, p.GetKubectlContext())
	}
	client, err := kubernetes.NewForConfig(p.KubernetesRestConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	logs := t.TempDir()
	if err := p.ExportLogs(t.Context(), logs); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(logs, "kube-apiserver.log")); err != nil {
		t.Error(err)
	}
}
