package load

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestCommandLinesOfClients(t *testing.T) {
	t.Parallel()
	env := map[string]string{"POD_NAME": "load-0", "POD_NAMESPACE": "demo", "POD_IP": "10.1.0.9", "ISTIOD": "istiod:15010"}
	getenv := func(name string) string { return env[name] }
	got, err := Parse([]string{"-target", "app.demo.svc.cluster.local:8080"}, getenv, io.Discard)
	want := Config{
		Client: "grpc", Transport: "grpc", Target: "app.demo.svc.cluster.local:8080", Rate: 50, Timeout: time.Second, MaxInFlight: 1000,
		Bin: 100 * time.Millisecond, Istiod: "istiod:15010", Namespace: "demo", Pod: "load-0", IP: "10.1.0.9",
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Parse([]string{"-transport=http", "-target=http://app.demo.svc/", "-client=web"}, func(string) string { return "" }, io.Discard); err != nil || got.Client != "web" {
		t.Errorf("%+v, %v", got, err)
	}
	for args, want := range map[string]string{
		"":                                   `-target is "", want HOST:PORT`,
		"-target a:1 b":                      `unexpected argument "b"`,
		"-target a:1 -rate 0 -timeout 0s":    "-rate is 0, want up to 100000 per second; -timeout is 0s",
		"-target a:1 -ip x -istiod y":        `-istiod is "y", want HOST:PORT; -ip is "x"`,
		"-transport http -target https://a/": "want a URL such as http",
		"-transport tcp -target a:1":         `-transport is "tcp", want grpc or http`,
		"-target a:1 -max-in-flight 0":       "-max-in-flight is 0",
		"-target a:1 -bin 1us -duration -1s": "-duration is -1s; -bin is 1µs",
	} {
		if _, err := Parse(strings.Fields(args), getenv, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
