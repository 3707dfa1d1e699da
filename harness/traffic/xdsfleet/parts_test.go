package xdsfleet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"
)

func packed(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	x, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func withRoutes(t testing.TB, name string) *listener.FilterChain {
	t.Helper()
	manager := &hcm.HttpConnectionManager{RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{RouteConfigName: name}}}
	return &listener.FilterChain{Filters: []*listener.Filter{
		{Name: "other", ConfigType: &listener.Filter_TypedConfig{TypedConfig: packed(t, &hcm.Rds{RouteConfigName: "no"})}},
		{Name: "http", ConfigType: &listener.Filter_TypedConfig{TypedConfig: packed(t, manager)}},
	}}
}

func TestWhatIsReferredToIsReadOffTheWire(t *testing.T) {
	t.Parallel()
	typed := func(c cluster.Cluster_DiscoveryType) *cluster.Cluster {
		return &cluster.Cluster{Name: "c", ConnectTimeout: nil, ClusterDiscoveryType: &cluster.Cluster_Type{Type: c}}
	}
	named := typed(cluster.Cluster_EDS)
	named.EdsClusterConfig = &cluster.Cluster_EdsClusterConfig{ServiceName: "s"}
	for _, tt := range []struct {
		name, typ string
		m         proto.Message
		want      []string
	}{
		{"a cluster whose endpoints have a name", clusterType, named, []string{"s"}},
		{"a cluster whose endpoints have its name", clusterType, typed(cluster.Cluster_EDS), []string{"c"}},
		{"a cluster that is resolved", clusterType, typed(cluster.Cluster_STRICT_DNS), nil},
		{"a listener with chains", listenerType, &listener.Listener{
			FilterChains: []*listener.FilterChain{withRoutes(t, "a"), withRoutes(t, "b")}, DefaultFilterChain: withRoutes(t, "d"),
		}, []string{"a", "b", "d"}},
		{"a listener of TCP", listenerType, &listener.Listener{FilterChains: []*listener.FilterChain{{Filters: []*listener.Filter{{Name: "tcp"}}}}}, nil},
		{"endpoints", "other", named, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := referred(tt.typ, encoded(t, tt.m))
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnAnswerIsReadOffTheWire(t *testing.T) {
	t.Parallel()
	raw := encoded(t, &discovery.DeltaDiscoveryResponse{
		SystemVersionInfo: "7", TypeUrl: "T", Nonce: "n1", RemovedResources: []string{"x", "y"},
		ControlPlane: &core.ControlPlane{Identifier: `{"Component":"istiod","ID":"istiod-abc","Info":{"version":"1.31"}}`},
		Resources:    []*discovery.Resource{{Name: "a", Version: "v1", Resource: packed(t, &core.Node{})}, {Name: "b", Aliases: []string{"c"}}},
	})
	var a answer
	if err := a.parse(raw); err != nil {
		t.Fatal(err)
	}
	if a.typ != "T" || a.nonce != "n1" || a.replica != "istiod-abc" || !slices.Equal(a.removed, []string{"x", "y"}) || len(a.resources) != 2 ||
		a.resources[0].name.Value() != "a" || a.resources[0].version.Value() != "v1" || a.resources[1].name.Value() != "b" {
		t.Errorf("%+v", a)
	}
	if got := replicaName([]byte("other")); got != "other" {
		t.Errorf("a name that is no JSON is read as %q", got)
	}
}

// FuzzAnswer: no bytes make parse panic, and what it takes protobuf does not read
// otherwise.
func FuzzAnswer(f *testing.F) {
	f.Add(encoded(f, &discovery.DeltaDiscoveryResponse{TypeUrl: clusterType, Nonce: "n", Resources: []*discovery.Resource{
		{Name: "c", Resource: packed(f, &cluster.Cluster{Name: "c", ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS}})},
	}}))
	f.Add(encoded(f, &discovery.DeltaDiscoveryResponse{TypeUrl: listenerType, Resources: []*discovery.Resource{
		{Name: "l", Resource: packed(f, &listener.Listener{FilterChains: []*listener.FilterChain{withRoutes(f, "r")}})},
	}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a answer
		var want discovery.DeltaDiscoveryResponse
		if a.parse(raw) != nil || proto.Unmarshal(raw, &want) != nil {
			return
		}
		if a.typ != want.TypeUrl || a.nonce != want.Nonce || len(a.resources) != len(want.Resources) || !slices.Equal(a.removed, want.RemovedResources) {
			t.Errorf("%+v, want %v", a, &want)
		}
		for i, r := range want.Resources {
			if a.resources[i].name.Value() != r.Name || a.resources[i].version.Value() != r.Version {
				t.Errorf("resource %d is %s at %s, want %v", i, a.resources[i].name.Value(), a.resources[i].version.Value(), r)
			}
		}
	})
}

func TestAGoAwayIsFoundHoweverTheBytesCome(t *testing.T) {
	t.Parallel()
	frame := func(typ byte, payload int) []byte {
		return append([]byte{byte(payload >> 16), byte(payload >> 8), byte(payload), typ, 0, 0, 0, 0, 0}, slices.Repeat([]byte{goAwayType}, payload)...)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var all []byte
		want := 0
		for range rapid.IntRange(0, 8).Draw(rt, "frames") {
			typ := rapid.SampledFrom([]byte{0, 1, 4, 6, goAwayType, 8}).Draw(rt, "type")
			if typ == goAwayType {
				want++
			}
			all = append(all, frame(typ, rapid.SampledFrom([]int{0, 1, 8, 9, 300, 70_000}).Draw(rt, "payload"))...)
		}
		var f frames
		got := 0
		for len(all) > 0 {
			n := min(len(all), rapid.SampledFrom([]int{1, 4, 9, 17, 4096}).Draw(rt, "read"))
			if n < 300 && f.skip > 1000 {
				n = min(len(all), 4096)
			}
			if f.read(all[:n]) {
				got++
			}
			all = all[n:]
		}
		if (got > 0) != (want > 0) || got > want {
			rt.Fatalf("found in %d reads, %d frames are GOAWAY", got, want)
		}
	})
}

func TestWhatIsHeldFollowsAnswers(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string])
	rapid.Check(t, func(rt *rapid.T) {
		var h held
		want := map[string]string{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "answers") {
			var a discovery.DeltaDiscoveryResponse
			for _, name := range names.Draw(rt, "resources") {
				version := string(rune('0' + i))
				a.Resources = append(a.Resources, &discovery.Resource{Name: name, Version: version})
			}
			a.RemovedResources = names.Draw(rt, "removed")
			for _, name := range a.RemovedResources {
				delete(want, name)
			}
			for _, r := range a.Resources {
				want[r.Name] = r.Version
			}
			var got answer
			if err := got.parse(encoded(t, &a)); err != nil {
				rt.Fatal(err)
			}
			h = h.with(&got)
		}
		got := h.versions()
		if len(want) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
		if !slices.IsSortedFunc(h, func(a, b resource) int { return strings.Compare(a.name.Value(), b.name.Value()) }) {
			rt.Fatal("not in the order of names")
		}
	})
}

func TestPausesDoubleAndAreDrawnFromTheirWholeLength(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	longest := make([]time.Duration, 9)
	for range 2000 {
		var p pauses
		for i := range longest {
			longest[i] = max(longest[i], p.next(random))
		}
		if p.reset(); p.bound != 0 {
			t.Fatal("a stream that delivered leaves the bound as it was")
		}
	}
	bound := firstPause
	for i, got := range longest {
		if got >= bound || got < bound*98/100 {
			t.Errorf("pause %d is up to %v, want up to %v", i, got, bound)
		}
		bound = min(2*bound, lastPause)
	}
}

// TestRestsAreThoseOfLivesMetAtAnyTime: the mean rest of a life that is met at random
// is half its mean square by its mean.
func TestRestsAreThoseOfLivesMetAtAnyTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []Config{{Age: 60 * time.Second, Grace: 11 * time.Second}, {Age: 60 * time.Second, Grace: 11 * time.Second, CloseOnGoAway: true}} {
		least, most := c.lives()
		a, b := least.Seconds(), most.Seconds()
		if want := 54.0; c.CloseOnGoAway && a != want || !c.CloseOnGoAway && a != want+11 {
			t.Errorf("lives of at least %v s", a)
		}
		want := (b*b*b - a*a*a) / (3 * (b - a)) / (a + b)
		sum := 0.0
		const n = 100_000
		for range n {
			r := rest(least, most, random)
			if r < 0 || r > most {
				t.Fatalf("a rest of %v", r)
			}
			sum += r.Seconds()
		}
		if got := sum / n; got < want-0.3 || got > want+0.3 { // five standard errors
			t.Errorf("rests are %v s in the mean, want %v", got, want)
		}
	}
}

func TestReplicasAreChosenEvenly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var set readySet
	if _, _, ok := set.Pick(random); ok {
		t.Error("a replica was chosen of none")
	}
	set.set([]replica{{"a", "1"}, {"b", "2"}, {"c", "3"}})
	counts := map[string]int{}
	for range 30_000 {
		name, _, _ := set.Pick(random)
		counts[name]++
	}
	for _, name := range []string{"a", "b", "c"} {
		if n := counts[name]; n < 9600 || n > 10_400 { // five standard deviations
			t.Errorf("%v", counts)
		}
	}
}

func TestOrdersThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, want string }{
		{"replicas", `{"ready":["a=127.0.0.1:1","b=h:2"]}`, ""},
		{"no replicas", `{"ready":[]}`, ""},
		{"growth", `{"grow":3,"over":"1m30s"}`, ""},
		{"growth at once", `{"grow":3}`, ""},
		{"neither", `{}`, "neither ready nor grow"},
		{"both", `{"ready":[],"grow":1}`, "at once"},
		{"less", `{"grow":-1}`, "neither ready nor grow"},
		{"a time that is none", `{"grow":1,"over":"soon"}`, "invalid duration"},
		{"a time before now", `{"grow":1,"over":"-1s"}`, "grow over -1s"},
		{"a replica without a name", `{"ready":["=127.0.0.1:1"]}`, "want NAME=HOST:PORT"},
		{"a replica without a port", `{"ready":["a=127.0.0.1"]}`, "want NAME=HOST:PORT"},
		{"a replica twice", `{"ready":["a=h:1","a=h:2"]}`, "ready twice"},
		{"an unknown field", `{"shrink":1}`, "unknown field"},
		{"two values", `{"grow":1}{}`, "more than one value"},
		{"no JSON", `ready`, "invalid character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			err := readOrders(strings.NewReader("\n"+tt.line+"\n"), func(command) bool { n++; return true })
			if tt.want == "" && (err != nil || n != 1) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, %d orders, want %q", err, n, tt.want)
			}
		})
	}
}

// FuzzOrders: whatever the input has, orders that are taken make sense.
func FuzzOrders(f *testing.F) {
	f.Add(`{"ready":["a=127.0.0.1:1"]}` + "\n" + `{"grow":3,"over":"1s"}`)
	f.Add(`{"ready":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		_ = readOrders(strings.NewReader(text), func(c command) bool {
			if c.setReady == (c.grow > 0) || c.over < 0 {
				t.Errorf("%+v", c)
			}
			for _, r := range c.ready {
				if r.name == "" || r.addr == "" {
					t.Errorf("%+v", c)
				}
			}
			return true
		})
	})
}

func TestWrongFlagsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"an age", "-proxies 5 -age 30s", ""},
		{"together", "-proxies 5 -together -istiod istiod:15010 -identify", ""},
		{"nothing", "", "-proxies is 0, want 1 to 1048576; -age is 0s, want more than 0, or -together"},
		{"numbers that end", "-proxies 2 -together -first 1048575", "-first is 1048575, want 0 to 1048574"},
		{"no address", "-proxies 1 -together -istiod istiod", `-istiod is "istiod", want HOST:PORT`},
		{"a namespace with parts", "-proxies 1 -together -namespace a.b", `-namespace is "a.b"`},
		{"an argument", "-proxies 1 -together now", `unexpected argument "now"`},
		{"times before now", "-proxies 1 -age -1s -over -1s -grace -1s", "-over is -1s; -age is -1s, want more than 0, or -together; -grace is -1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(strings.Fields(tt.args), io.Discard)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// BenchmarkAnswer reads a large mesh's clusters off the wire: 2000 of 300 bytes. A
// fleet of thousands does so for every connection.
func BenchmarkAnswer(b *testing.B) {
	var large discovery.DeltaDiscoveryResponse
	large.TypeUrl = clusterType
	for i := range 2000 {
		name := fmt.Sprintf("outbound|80||service-%04d.demo.svc.cluster.local", i)
		c := &cluster.Cluster{Name: name, AltStatName: strings.Repeat("x", 180), ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS}}
		large.Resources = append(large.Resources, &discovery.Resource{Name: name, Version: "1", Resource: packed(b, c)})
	}
	raw := encoded(b, &large)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var a answer
		if err := a.parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
