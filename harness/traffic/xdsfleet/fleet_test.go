package xdsfleet

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

func TestEveryProxyIsConnectedAndTheRecordAddsUp(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 3, 0, 0, "a.demo", "b.demo")
	r := startFleet(t, Config{Proxies: 60, Together: true, Seed: 1}, ready)
	r.await(60, recording.Connected)
	r.order(`{"grow":30,"over":"100ms"}`)
	connected := r.await(90, recording.Connected)
	counts := map[string]int{}
	for _, e := range connected {
		counts[e.Replica]++
	}
	for _, x := range all {
		if x.Open() != counts[x.Name] || counts[x.Name] == 0 {
			t.Errorf("%s has %d streams, the record says %d", x.Name, x.Open(), counts[x.Name])
		}
	}
	totals := r.end()
	totals.Intervals = 0
	if want := (traffic.FleetTotals{Proxies: 90, Connects: 90, Open: 90}); totals != want {
		t.Errorf("%+v, want %+v", totals, want)
	}
}

func TestAProxyThatWaitsIsAskedToLeaveAndThenCutOff(t *testing.T) {
	t.Parallel()
	_, ready := replicas(t, 2, 300*time.Millisecond, 100*time.Millisecond, "a.demo")
	r := startFleet(t, Config{Proxies: 20, Together: true, Seed: 1}, ready)
	asked := r.await(20, recording.GoAway)[:20]
	closed := r.await(20, recording.Closed)[:20]
	r.await(40, recording.Connected)
	if totals := r.end(); totals.Connects-totals.Closes != totals.Open || totals.GoAways < totals.Closes {
		t.Errorf("%+v", totals)
	}
	since := map[string]int64{}
	for _, e := range asked {
		if e.AgeNS <= 0 || e.Replica == "" {
			t.Errorf("asked to leave: %+v", e)
		}
		since[e.Proxy] = e.AgeNS
	}
	for _, e := range closed {
		if e.Code != "Unavailable" || e.AgeNS <= since[e.Proxy] || since[e.Proxy] == 0 {
			t.Errorf("cut off: %+v", e)
		}
	}
}

func TestAProxyThatDoesNotWaitLeavesWhenItIsAsked(t *testing.T) {
	t.Parallel()
	_, ready := replicas(t, 2, 300*time.Millisecond, patience, "a.demo")
	r := startFleet(t, Config{Proxies: 10, Together: true, CloseOnGoAway: true, Seed: 1}, ready)
	for _, e := range r.await(10, recording.Closed) {
		if e.Code != "" || e.Text != errAsked.Error() {
			t.Errorf("%+v", e)
		}
	}
	if totals := r.end(); totals.GoAways < 10 {
		t.Errorf("%+v", totals)
	}
}

func TestConnectionsToAReplicaThatDiesAreLostAndGoToOthers(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 2, 0, 0, "a.demo")
	r := startFleet(t, Config{Proxies: 20, Together: true, Seed: 1}, ready)
	r.await(20, recording.Connected)
	lost := all[0].Open()
	all[0].Stop()
	for _, e := range r.await(lost, recording.Closed) {
		if e.Replica != "istiod-0" || e.Code != "Unavailable" {
			t.Errorf("%+v", e)
		}
	}
	_, addr, _ := strings.Cut(strings.Trim(strings.Split(ready, ",")[1], `"]}`), "=")
	r.order(`{"ready":["istiod-1=` + addr + `"]}`)
	connected := r.await(20+lost, recording.Connected)
	for _, e := range connected[20:] {
		if e.Replica != "istiod-1" {
			t.Errorf("%+v", e)
		}
	}
	if totals := r.end(); totals.GoAways != 0 || totals.Open != 20 || lost == 0 {
		t.Errorf("%d lost: %+v", lost, totals)
	}
}

func TestAReplicaThatDrainsAsksAllToLeave(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 1, 0, 0, "a.demo")
	r := startFleet(t, Config{Proxies: 5, Together: true, Seed: 1}, ready)
	r.await(5, recording.Connected)
	go all[0].Drain()
	r.await(5, recording.GoAway)
	if got := r.events(recording.Closed); len(got) > 0 {
		t.Errorf("streams that may stay have ended: %+v", got)
	}
	all[0].Stop()
	for _, e := range r.await(5, recording.Closed) {
		if e.Code == "" || e.Replica != "istiod-0" {
			t.Errorf("%+v", e)
		}
	}
	r.end()
}

func TestRefusalsAreCountedWithTheirCodes(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 1, 0, 0)
	var refused atomic.Int64
	all[0].Refuse = func() error {
		if refused.Add(1) <= 3 {
			return status.Error(codes.ResourceExhausted, "request rate limit exceeded")
		}
		return nil
	}
	r := startFleet(t, Config{Proxies: 1, Together: true, Seed: 1}, ready)
	r.await(1, recording.Connected)
	for _, e := range r.events(recording.Rejected) {
		if e.Code != "ResourceExhausted" || e.Text != "request rate limit exceeded" || e.Replica != "istiod-0" {
			t.Errorf("%+v", e)
		}
	}
	if totals := r.end(); totals.Rejects != 3 || totals.Connects != 1 {
		t.Errorf("%+v", totals)
	}
}

func TestAProxyWithNowhereToGoIsRefused(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 1, 0, 0)
	r := startFleet(t, Config{Proxies: 1, Together: true, Seed: 1}, `{"ready":[]}`, ready)
	r.await(1, recording.Connected)
	r.order(`{"ready":[]}`)
	all[0].Stop()
	if got := r.await(1, recording.Rejected)[0]; got.Code != "Unavailable" || got.Text != "no replica is ready" || got.Replica != "" {
		t.Errorf("%+v", got)
	}
	r.end()
}

func TestInEquilibriumEachFirstConnectionEndsAfterTheRestOfALife(t *testing.T) {
	t.Parallel()
	_, ready := replicas(t, 2, 0, 0)
	r := startFleet(t, Config{Proxies: 20, Age: 500 * time.Millisecond, Grace: 100 * time.Millisecond, Seed: 1}, ready)
	for _, e := range r.await(20, recording.Closed) {
		if e.Code != "" || e.Text != errRest.Error() {
			t.Errorf("%+v", e)
		}
	}
	r.await(40, recording.Connected)
	if totals := r.end(); totals.Closes != 20 || totals.Open != 20 {
		t.Errorf("%+v: only first connections may end", totals)
	}
}

func TestBehindAServiceAReplicaIsKnownByItsOwnAccount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		identify bool
		want     string
	}{
		{"asked", true, "istiod-0"},
		{"not asked", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all, ready := replicas(t, 1, 0, 0, "a.demo")
			_, addr, _ := strings.Cut(strings.Trim(ready, `{"ready:[]}`), "=")
			r := startFleet(t, Config{Proxies: 3, Together: true, Istiod: addr, Identify: tt.identify})
			for _, e := range r.await(3, recording.Connected) {
				if e.Replica != tt.want {
					t.Errorf("%+v, want %q", e, tt.want)
				}
			}
			awaitRequest(t, all[0], routeType)
			r.end()
		})
	}
}

// awaitRequest waits until a replica was asked for a type and returns all requests.
func awaitRequest(t *testing.T, x *xdstest.Istiod, typ string) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		said := spoken(x.Requests())
		if n := len(said); n > 0 && strings.HasPrefix(said[n-1], "ack "+short(typ)) {
			return said
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer of type %s was acknowledged: %q", typ, said)
		}
	}
}

func short(typ string) string { return typ[strings.LastIndex(typ, ".")+1:] }

// spoken writes requests down.
func spoken(requests []*discovery.DeltaDiscoveryRequest) []string {
	var out []string
	for _, r := range requests {
		if r.ResponseNonce != "" {
			out = append(out, fmt.Sprint("ack ", short(r.TypeUrl)))
			continue
		}
		text := short(r.TypeUrl)
		if r.Node != nil {
			text = r.Node.Metadata.Fields["ISTIO_VERSION"].GetStringValue() + " " + text
		}
		for _, x := range r.ResourceNamesSubscribe {
			text += " +" + x
		}
		for _, x := range r.ResourceNamesUnsubscribe {
			text += " -" + x
		}
		var had []string
		for name := range r.InitialResourceVersions {
			had = append(had, name)
		}
		slices.Sort(had)
		if len(had) > 0 {
			text += fmt.Sprint(" has ", had)
		}
		out = append(out, text)
	}
	return out
}

func TestAProxyAsksInTheOrderOfAnEnvoy(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 1, 0, 0, "a.demo", "b.demo")
	r := startFleet(t, Config{Proxies: 1, Together: true, Seed: 1}, ready)
	first := awaitRequest(t, all[0], routeType)
	want := []string{
		"cohort-1 Cluster", "ack Cluster", "ClusterLoadAssignment +outbound|80||a.demo +outbound|80||b.demo", "ack ClusterLoadAssignment",
		"Listener", "ack Listener", "RouteConfiguration +a.demo_80 +b.demo_80", "ack RouteConfiguration",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	node := all[0].Requests()[0].Node
	if node.Id != "sidecar~10.128.0.1~proxy-00000.mesh~mesh.svc.cluster.local" || node.Metadata.Fields["INSTANCE_IPS"].GetStringValue() != "10.128.0.1" {
		t.Errorf("node %v", node)
	}
	r.end()
}

func TestAProxyFollowsWhatIsPushed(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 1, 0, 0, "a.demo", "b.demo")
	r := startFleet(t, Config{Proxies: 1, Together: true, Seed: 1}, ready)
	before := len(awaitRequest(t, all[0], routeType))
	all[0].Push(xdstest.Mesh{"b.demo", "c.demo"})
	// What is pushed and what is asked for cross each other: only changes are looked at.
	var changes []string
	for deadline := time.Now().Add(patience); len(changes) < 2 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		changes = nil
		for _, text := range spoken(all[0].Requests())[before:] {
			if !strings.HasPrefix(text, "ack") {
				changes = append(changes, text)
			}
		}
	}
	want := []string{"ClusterLoadAssignment +outbound|80||c.demo -outbound|80||a.demo", "RouteConfiguration +c.demo_80 -a.demo_80"}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	r.end()
}

func TestAProxyThatReturnsSaysWhatItHas(t *testing.T) {
	t.Parallel()
	all, ready := replicas(t, 2, 0, 0, "a.demo")
	one, two, _ := strings.Cut(strings.Trim(ready, `{"ready:[]}`), `","`)
	r := startFleet(t, Config{Proxies: 1, Together: true, Seed: 1}, `{"ready":["istiod-`+strings.TrimPrefix(one, "istiod-")+`"]}`)
	awaitRequest(t, all[0], routeType)
	r.order(`{"ready":["` + two + `"]}`)
	all[0].Stop()
	r.await(2, recording.Connected)
	got := awaitRequest(t, all[1], routeType)
	var asked []string
	for _, text := range got {
		if !strings.HasPrefix(text, "ack") {
			asked = append(asked, text)
		}
	}
	want := []string{
		"cohort-1 Cluster has [BlackHoleCluster outbound|80||a.demo]",
		"ClusterLoadAssignment +outbound|80||a.demo has [outbound|80||a.demo]",
		"Listener has [a.demo_80]", "RouteConfiguration +a.demo_80 has [a.demo_80]",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	r.end()
}

func TestAFleetThatCannotDoWhatItIsToldEnds(t *testing.T) {
	t.Parallel()
	_, ready := replicas(t, 1, 0, 0)
	for _, tt := range []struct {
		name    string
		istiod  string
		control string
		want    string
	}{
		{"no order", "", "{}", "neither ready nor grow"},
		{"growth before there is a replica", "", `{"grow":1}`, "to grow before any replica"},
		{"ready replicas behind a Service", "127.0.0.1:1", ready, "where others choose"},
		{"more than there are files for", "127.0.0.1:1", `{"grow":1000000}`, "ulimit -n 1000101"},
		{"more than there are addresses for", "127.0.0.1:1", fmt.Sprintf(`{"grow":%d}`, mostProxies), "want up to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{Client: "fleet", Proxies: 1, Istiod: tt.istiod, Together: true, Cohort: "c", Namespace: "n"}
			err := Run(t.Context(), cfg, strings.NewReader(tt.control+"\n"), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAFleetThatCannotWriteEnds(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	_ = out.Close()
	cfg := Config{Client: "fleet", Proxies: 1, Istiod: "127.0.0.1:1", Together: true, Cohort: "c", Namespace: "n"}
	if err := Run(t.Context(), cfg, strings.NewReader(""), in); err == nil || !strings.Contains(err.Error(), "writing line 0") {
		t.Errorf("error %v", err)
	}
}
