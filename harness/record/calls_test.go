package record

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/recording"
)

func (g *rig) do(rt http.RoundTripper, method, path, body string) (string, error) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.ctx, method, "http://"+g.api.addr+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

func TestOurWritesAreRecordedAndOurReadsAreNot(t *testing.T) {
	g := startedRig(t)
	rt := g.RecordCalls(http.DefaultTransport)
	const path = "/api/v1/namespaces/drill/configmaps"
	body := `{"metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`
	answer, err := g.do(rt, "POST", path, body)
	if err != nil || !strings.Contains(answer, `"v":"written"`) {
		t.Fatalf("the client got %q, %v", answer, err)
	}
	if _, err := g.do(rt, "PUT", path+"/bad", `{"metadata":{"name":"bad"}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := g.do(rt, "GET", path, ""); err != nil {
		t.Fatal(err)
	}
	refused := g.RecordCalls(roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }))
	if _, err := g.do(refused, "PATCH", path+"/a", strings.Repeat("x", maxCallBody+1)); err == nil {
		t.Error("the client was not told of the error")
	}
	got := g.finish()
	calls := got.of(func(f recording.Fact) bool { return f.Call != nil })
	if len(calls) != 3 {
		t.Fatalf("calls: %+v", calls)
	}
	created, bad, failed := calls[0].Call, calls[1].Call, calls[2].Call
	if created.Verb != "create" || created.Resource != "configmaps" || created.Name != "drill/a" || created.Error != "" ||
		created.DurationNS <= 0 || string(created.Body) != `{"metadata":{"name":"a"}}` ||
		int(created.RV) != got.versions(recording.Added)[0] {
		t.Errorf("create: %+v with body %s", created, created.Body)
	}
	if bad.Verb != "update" || bad.Error != "as the test asked" || bad.RV != 0 {
		t.Errorf("update: %+v", bad)
	}
	if failed.Verb != "patch" || failed.Error != "connection refused" || string(failed.Body) != `"65537 bytes"` {
		t.Errorf("patch: %+v", failed)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestPathsNameWhatTheyWrite(t *testing.T) {
	for path, want := range map[string]target{
		"/api/v1/namespaces/n/pods/p":                                {"pods", "n", "p"},
		"/api/v1/namespaces/n/pods/p/eviction":                       {"pods/eviction", "n", "p"},
		"/api/v1/namespaces/n/pods":                                  {"pods", "n", ""},
		"/api/v1/namespaces/n":                                       {"namespaces", "", "n"},
		"/api/v1/namespaces/n/finalize":                              {"namespaces/finalize", "", "n"},
		"/api/v1/nodes/x/status":                                     {"nodes/status", "", "x"},
		"/apis/argoproj.io/v1alpha1/namespaces/n/rollouts/r/status":  {"rollouts.argoproj.io/status", "n", "r"},
		"/k8s/clusters/c/apis/apps/v1/namespaces/n/deployments/d":    {"deployments.apps", "n", "d"},
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cr": {"customresourcedefinitions.apiextensions.k8s.io", "", "cr"},
		"/version": {"/version", "", ""},
	} {
		if got := parsePath(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

func TestAGeneratedNameIsThatOfTheAnswer(t *testing.T) {
	req, err := http.NewRequest("POST", "http://x/api/v1/namespaces/n/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := describe(req, []byte(`{"metadata":{"generateName":"p-"}}`))
	c.answer(&http.Response{StatusCode: 201}, fmt.Appendf(nil, `{"metadata":%s}`, metadata("p-x1", 7)), nil)
	if c.Name != "n/p-x1" || c.RV != 7 {
		t.Errorf("%+v", c)
	}
}

// A refusal is kept whole, and is one whatever code it comes with.
func TestAFailureIsKept(t *testing.T) {
	const refusal = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","code":500}`
	for _, c := range []struct {
		code int
		body string
		want recording.Call
	}{
		{201, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`, recording.Call{Code: 201}},
		{201, refusal, recording.Call{Code: 201, Error: "no", Failure: []byte(refusal)}},
		{429, refusal, recording.Call{Code: 429, Error: "no", Failure: []byte(refusal)}},
		{502, "<html>", recording.Call{Code: 502, Error: "Bad Gateway"}},
	} {
		var got call
		got.answer(&http.Response{StatusCode: c.code}, []byte(c.body), nil)
		if got.Code != c.want.Code || got.Error != c.want.Error || string(got.Failure) != string(c.want.Failure) {
			t.Errorf("%d with %s: %+v", c.code, c.body, got)
		}
	}
}
