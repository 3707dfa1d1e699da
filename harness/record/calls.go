package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/recording"
)

// maxCallBody bounds the recorded body of a request of ours, in bytes.
const maxCallBody = 64 << 10

// RecordCalls wraps the transport of a client (rest.Config.Wrap) so that every
// write through it is recorded: verb, plural.group[/subresource], namespace/name
// (name alone for cluster resources), body, answer and duration. Bodies that
// are not JSON, or are longer than 64 KiB, are replaced by a note of their
// size. Reads are not recorded.
func (r *Recorder) RecordCalls(base http.RoundTripper) http.RoundTripper {
	return &callRecorder{r: r, base: base}
}

type callRecorder struct {
	r    *Recorder
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *callRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if !writes(req.Method) {
		return c.base.RoundTrip(req)
	}
	req, body, err := readRequest(req)
	if err != nil {
		return nil, err
	}
	begin := c.r.now()
	resp, err := c.base.RoundTrip(req)
	var answer []byte
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		answer, err = readResponse(resp)
	}
	call := describe(req, body)
	call.DurationNS = int64(c.r.now() - begin)
	call.answer(resp, answer, err)
	c.r.Call(call.Call)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func writes(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// readRequest reads the body and returns a request that can send it.
func readRequest(req *http.Request) (*http.Request, []byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	clone := req.Clone(req.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	clone.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	clone.ContentLength = int64(len(body))
	return clone, body, nil
}

// readResponse reads the answer and puts it back for the client.
func readResponse(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// call is a call in the making.
type call struct{ recording.Call }

func describe(req *http.Request, body []byte) call {
	c := call{recording.Call{Body: callBody(body)}}
	target := parsePath(req.URL.Path)
	name := target.name
	if name == "" && len(body) > 0 {
		name = nameIn(body)
	}
	c.Resource = target.resource
	c.Name = strings.TrimPrefix(target.namespace+"/"+name, "/")
	switch req.Method {
	case http.MethodPost:
		c.Verb = "create"
	case http.MethodPut:
		c.Verb = "update"
	case http.MethodPatch:
		c.Verb = "patch"
	case http.MethodDelete:
		c.Verb = "delete"
		if target.name == "" {
			c.Verb = "deletecollection"
		}
	}
	return c
}

// answer takes in what the server said.
func (c *call) answer(resp *http.Response, body []byte, err error) {
	if err != nil {
		c.Error = err.Error()
		return
	}
	c.Code = resp.StatusCode
	failed := isFailure(body)
	if failed {
		c.Failure = callBody(body)
	}
	if failed || resp.StatusCode >= http.StatusBadRequest {
		c.Error = statusError(resp.StatusCode, body).Error()
		return
	}
	if id, err := identify(body); err == nil {
		c.RV = id.version
		if strings.HasSuffix(c.Name, "/") || c.Name == "" { // generateName
			c.Name += string(id.name)
		}
	}
}

// isFailure says whether an answer is a Status object that says no.
func isFailure(body []byte) bool {
	var st metav1.Status
	return json.Unmarshal(body, &st) == nil && st.Kind == "Status" && st.Status == metav1.StatusFailure
}

type target struct{ resource, namespace, name string }

// parsePath reads /api/v1/namespaces/ns/pods/name/status and its like, under
// any prefix.
func parsePath(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		if p == "api" && len(parts) > i+2 {
			return resourceTarget("", parts[i+2:])
		}
		if p == "apis" && len(parts) > i+3 {
			return resourceTarget(parts[i+1], parts[i+3:])
		}
	}
	return target{resource: path}
}

func resourceTarget(group string, parts []string) (t target) {
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource = parts[0]
	if group != "" {
		t.resource += "." + group
	}
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.resource += "/" + strings.Join(parts[2:], "/")
	}
	return t
}

func nameIn(body []byte) string {
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(body, &o) // what is no JSON has no name
	return o.Metadata.Name
}

func callBody(body []byte) json.RawMessage {
	switch {
	case len(body) == 0:
		return nil
	case len(body) > maxCallBody, !json.Valid(body):
		return note(body)
	}
	if trimmed, err := TrimObject(nil, body); err == nil {
		return trimmed
	}
	return note(body)
}

func note(body []byte) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("%d bytes", len(body))))
}

// validBody keeps a body that is not JSON from spoiling the recording.
func validBody(body json.RawMessage) json.RawMessage {
	if len(body) == 0 || json.Valid(body) {
		return body
	}
	return note(body)
}
