package record

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"reckon.dev/reckon/harness/recording"
)

func TestAdhoc(t *testing.T) {
	dir := os.Getenv("ADHOC")
	cfg, err := clientcmd.BuildConfigFromFlags("", dir+"/kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c, _ := dynamic.NewForConfig(cfg)
	crds := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	text, _ := os.ReadFile(os.Getenv("CRD"))
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	apply := func() {
		if _, err := crds.Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "x", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	apply()
	ro := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
	var file bytes.Buffer
	base := time.Now()
	w, _ := recording.NewWriter(&file, recording.Header{Base: base})
	r, err := New(Config{Writer: w, REST: cfg, Base: base, Resources: []Resource{{GVR: ro}, {GVR: configMaps}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	r.StepBegin("apply crd")
	labels := crd.GetLabels()
	if labels == nil { labels = map[string]string{} }
	labels["x"] = time.Now().Format("150405")
	crd.SetLabels(labels)
	spec := crd.Object["spec"].(map[string]any)
	names := spec["names"].(map[string]any)
	names["shortNames"] = []any{"ro", "ro" + time.Now().Format("150405")}
	apply()
	time.Sleep(2 * time.Second)
	r.StepBegin("kill")
	if out, err := exec.Command("sh", "-c", "kill -9 $(cat "+dir+"/api.pid)").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	time.Sleep(3 * time.Second)
	r.StepBegin("restart")
	cmd := exec.Command("bash", dir+"/apiserver.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(dir+"/api.pid", []byte(time.Now().Format("")+itoa(cmd.Process.Pid)), 0o600)
	sctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.Sync(sctx); err != nil {
		t.Error(err)
	}
	r.StepBegin("synced")
	if err := r.Stop(ctx); err != nil {
		t.Error(err)
	}
	w.Close(int64(r.Now()))
	for _, f := range readFacts(t, file.Bytes()) {
		switch {
		case f.Step != nil:
			t.Log(f.At(), "step", f.Step.Name)
		case f.Gap != nil:
			t.Logf("%s gap %+v (%s)", f.At(), *f.Gap, time.Duration(f.Gap.ToNS-f.Gap.FromNS))
		case f.Object != nil:
			t.Log(f.At(), f.Object.Change, f.Object.Resource, f.Object.Name, f.Object.RV)
		}
	}
}

func itoa(n int) string { b := []byte{}; for ; n > 0; n /= 10 { b = append([]byte{byte('0' + n%10)}, b...) }; return string(b) }
