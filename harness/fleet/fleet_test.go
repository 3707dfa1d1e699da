package fleet

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const rollout = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: cart, namespace: shop}
spec:
  strategy: {canary: {steps: [{setWeight: 20}, {pause: {}}]}}
  template: {spec: {serviceAccountName: cart, containers: [{name: app, image: x}]}}
`

func files(texts map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func texts(remarks []Remark) []string {
	var out []string
	for _, r := range remarks {
		out = append(out, r.String())
	}
	return out
}

func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	f, err := Read(files(map[string]string{
		"b/cart.yaml":    "# Source: cart\n---\n\n# a comment\n" + rollout + "---\napiVersion: v1\nkind: Service\nmetadata: {name: cart}\n--- # the end\n# nothing\n",
		"a.json":         `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"one","uid":"x"},"status":{"phase":"Healthy"}}]}`,
		"notes.txt":      "kind: Rollout",
		".git/hook.yaml": rollout,
	}), "drill")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range slices.Concat(f.Rollouts, f.Others) {
		got = append(got, o.String()+" "+o.Place())
	}
	if want := []string{"Rollout drill/one a.json:1", "Rollout shop/cart b/cart.yaml:5", "Service drill/cart b/cart.yaml:12"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	one := f.Rollouts[0]
	if _, status := one.Object["status"]; status || one.GetUID() != "" {
		t.Errorf("what a server adds is kept: %v", one.Object)
	}
	if len(f.Problems)+len(f.Unknown)+len(f.LeftOut) > 0 || !strings.HasPrefix(f.Digest, "sha256:") {
		t.Errorf("%+v", f)
	}
	if got := f.Namespaces(); !slices.Equal(got, []string{"drill", "shop"}) {
		t.Errorf("namespaces %q", got)
	}
}

func TestWhatIsNotLoadedIsListedWithItsLine(t *testing.T) {
	t.Parallel()
	f, err := Read(files(map[string]string{
		"a.yaml": rollout + "---\nkind: Service\nmetadata: {name: x}\n---\na: b\n  c: d\n---\nreplicas: {{ .Values.replicas }}\n---\n- one\n",
		"b.yaml": rollout,
		"c.yaml": "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: orders}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\n",
		"d.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: lost}\nspec: {workloadRef: {kind: Deployment, name: gone}, strategy: {blueGreen: {activeService: active}}}\n",
	}), "drill")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		list []Remark
		want []string
	}{
		{f.Problems, []string{
			"a.yaml:8: has no apiVersion", "a.yaml:12: ", "a.yaml:14: ", "a.yaml:16: is no object",
			"b.yaml:1: Rollout shop/cart was read from a.yaml:1 already",
			"d.yaml:1: Rollout drill/lost refers to Service drill/active,", "d.yaml:1: Rollout drill/lost refers to Deployment drill/gone,",
		}},
		{f.Unknown, []string{"c.yaml:1: KafkaTopic orders"}},
		{f.LeftOut, []string{"c.yaml:5: Secret", "c.yaml:9: Deployment drill/other: no Rollout needs it"}},
	} {
		got := texts(c.list)
		for _, want := range c.want {
			if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
				t.Errorf("%q is missing in %q", want, got)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%d remarks: %q", len(got), got)
		}
	}
	if i := slices.IndexFunc(texts(f.Problems), func(s string) bool { return strings.Contains(s, "Helm template: render it first") }); i < 0 {
		t.Errorf("nothing is said of Helm: %q", f.Problems)
	}
}

func TestWithoutARolloutThereIsNoFleet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":     {"", "the fleet has no Rollout"},
		"other kinds": {"apiVersion: v1\nkind: Service\nmetadata: {name: x}\n", "the fleet has no Rollout"},
		"no YAML":     {"a: [\n", "problems is x.yaml:"},
	} {
		if _, err := Read(files(map[string]string{"x.yaml": c.text}), "drill"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestTheDigestIsOfWhatIsLoaded(t *testing.T) {
	t.Parallel()
	digest := func(texts map[string]string) string {
		f, err := Read(files(texts), "drill")
		if err != nil {
			t.Fatal(err)
		}
		return f.Digest
	}
	base := digest(map[string]string{"a.yaml": rollout})
	if got := digest(map[string]string{"a.yaml": rollout, "notes.yaml": "# nothing\n"}); got != base {
		t.Error("a file without an object changes the digest")
	}
	if got := digest(map[string]string{"a.yaml": strings.Replace(rollout, "20", "30", 1)}); got == base {
		t.Error("another weight has the same digest")
	}
}
