package controlplane

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/series"
)

const s = time.Second

// service is one whose slice has, at each time, these pods Ready, which kube-proxy is
// told of at once and begins to write a second later, for two.
func service(states map[time.Duration][]string) *kubeproxy.Record {
	var out kubeproxy.Record
	for at := time.Duration(0); at < time.Minute; at += s {
		pods, ok := states[at]
		if !ok {
			continue
		}
		c := kubeproxy.Change{At: at, Slice: "s"}
		for _, pod := range pods {
			c.Endpoints = append(c.Endpoints, kubeproxy.Endpoint{Pod: pod, Ready: true, Serving: true})
		}
		out.Changes = append(out.Changes, c)
		out.Said = append(out.Said, kubeproxy.Saying{At: at, What: kubeproxy.Told},
			kubeproxy.Saying{At: at + 2*s, What: kubeproxy.Writes}, kubeproxy.Saying{At: at + 3*s, What: kubeproxy.Done, Took: 2 * s})
	}
	return &out
}

func replica(name string, from, to time.Duration) series.Replica {
	return series.Replica{Name: name, Ready: []series.Interval{{From: from, To: to}}}
}

func TestTheModelIsLedByWhatKubeProxyWrote(t *testing.T) {
	t.Parallel()
	window := series.Interval{From: 10 * s, To: 50 * s}
	rules := func(from, to time.Duration, replicas ...int) mesh.Rules {
		return mesh.Rules{Since: mesh.Span{From: from, To: to}, Replicas: replicas}
	}
	for name, c := range map[string]struct {
		replicas []series.Replica
		service  *kubeproxy.Record
		want     []mesh.Rules
		err      string
	}{
		"of processes nothing leads": {[]series.Replica{replica("a", 0, 50*s)}, nil, nil, ""},
		"rules follow": {
			[]series.Replica{replica("a", 0, 20*s), replica("b", 15*s, 50*s)}, service(map[time.Duration][]string{0: {"a"}, 15 * s: {"a", "b"}, 20 * s: {"b"}}),
			[]mesh.Rules{rules(0, 0, 0), rules(7*s, 8*s, 0, 1), rules(12*s, 13*s, 1)}, "",
		},
		"those last written before the window are in force, and who was led to before that is forgotten": {
			[]series.Replica{replica("x", 0, 4*s), replica("a", 0, 50*s), replica("b", 4*s, 50*s)}, service(map[time.Duration][]string{0: {"a", "x"}, 5 * s: {"a", "b"}}),
			[]mesh.Rules{rules(0, 0, 0, 1)}, "",
		},
		"a pod that was seen Ready late is led to no sooner": {
			[]series.Replica{replica("a", 0, 50*s), replica("b", 20*s, 50*s)}, service(map[time.Duration][]string{0: {"a"}, 15 * s: {"a", "b"}}),
			[]mesh.Rules{rules(0, 0, 0), rules(10*s, 10*s, 0, 1)}, "",
		},
		"nor what is written after that": {
			[]series.Replica{replica("a", 0, 50*s), replica("b", 25*s, 50*s)}, service(map[time.Duration][]string{0: {"a"}, 15 * s: {"a", "b"}, 19 * s: {"a"}}),
			[]mesh.Rules{rules(0, 0, 0), rules(15*s, 15*s, 0, 1), rules(15*s, 15*s, 0)}, "",
		},
		"one that comes back has another number": {
			[]series.Replica{{Name: "a", Ready: []series.Interval{{From: 0, To: 20 * s}, {From: 30 * s, To: 50 * s}}}, replica("b", 0, 50*s)},
			service(map[time.Duration][]string{0: {"a", "b"}, 20 * s: {"b"}, 30 * s: {"a", "b"}}),
			[]mesh.Rules{rules(0, 0, 0, 1), rules(12*s, 13*s, 1), rules(22*s, 23*s, 2, 1)}, "",
		},
		"what was in force at the begin must be known": {
			[]series.Replica{replica("a", 0, 50*s)}, service(map[time.Duration][]string{15 * s: {"a"}}), nil, "in force at 10s",
		},
		"and so must who is led to": {
			[]series.Replica{replica("a", 0, 50*s)}, service(map[time.Duration][]string{0: {"x"}}), nil, "led to x",
		},
		"kube-proxy must have said it": {
			[]series.Replica{replica("a", 0, 50*s)}, &kubeproxy.Record{Changes: []kubeproxy.Change{{Listed: true}}}, nil, "did not say when",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet := &series.Fleet{Replicas: c.replicas, Service: c.service}
			got, err := led(fleet, Fleet{}.numbered(fleet, window), window)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPodLeavesWhenItsKubeletGetsToIt(t *testing.T) {
	t.Parallel()
	ended := func(at time.Duration, because series.Ending, code string, asked time.Duration) series.Connection {
		return series.Connection{Replica: "a", To: at, Because: because, Code: code, Asked: asked}
	}
	connections := []series.Connection{
		ended(18*s, series.Lost, "Unavailable", 0),
		ended(21*s, series.AfterGoAway, "Unavailable", 10*s), // for its age
		ended(21*s, series.ByProxy, "", 0),
		ended(22*s, series.Lost, "Unavailable", 0),
		ended(23*s, series.AfterGoAway, "Unavailable", 22*s), // it was told that istiod ends
		{Replica: "b", To: 30 * s, Because: series.Lost, Code: "Unavailable"},
	}
	said := func(stopped, gone time.Duration) series.Replica {
		r := replica("a", 0, 20*s)
		r.Stopped, r.Gone = stopped, gone
		return r
	}
	for name, c := range map[string]struct {
		fleet series.Fleet
		want  mesh.Departure
	}{
		"a process takes its connections along": {series.Fleet{Connections: connections, Replicas: []series.Replica{said(0, 20*s)}}, mesh.Cut()},
		"a pod's end when they do, and its network by when it has stopped": {
			series.Fleet{Connections: connections, Replicas: []series.Replica{said(25*s, 26*s)}, Service: &kubeproxy.Record{}},
			mesh.Departure{From: 2 * s, To: 3 * s, Stops: mesh.Span{From: 3 * s, To: 5 * s}},
		},
		"or is gone, if nobody said that": {
			series.Fleet{Connections: connections, Replicas: []series.Replica{said(0, 26*s)}, Service: &kubeproxy.Record{}},
			mesh.Departure{From: 2 * s, To: 3 * s, Stops: mesh.Span{From: 3 * s, To: 6 * s}},
		},
		"one without connections ends when it leaves": {
			series.Fleet{Replicas: []series.Replica{said(25*s, 26*s)}, Service: &kubeproxy.Record{}}, mesh.Departure{Stops: mesh.Span{To: 5 * s}},
		},
	} {
		replicas := Fleet{}.numbered(&c.fleet, series.Interval{To: 50 * s})
		replicas[0].how = Eviction
		if got := replicas[0].departure(&c.fleet); got != c.want || replicas[0].to != 20*s {
			t.Errorf("%s: %+v at %s, want %+v at 20s", name, got, replicas[0].to, c.want)
		}
	}
}

func TestAPodThatIsSeenToLeaveLateLeftWithItsConnections(t *testing.T) {
	t.Parallel()
	left := replica("a", 0, 20*s)
	left.Stopped = 21 * s
	fleet := &series.Fleet{Replicas: []series.Replica{left}, Service: &kubeproxy.Record{}, Connections: []series.Connection{
		{Replica: "a", To: 15 * s, Because: series.Lost, Code: "Unavailable"}, // long before
		{Replica: "a", To: 20*s - 200*time.Millisecond, Because: series.Lost, Code: "Unavailable"},
		{Replica: "a", To: 20*s - 100*time.Millisecond, Because: series.AfterGoAway, Code: "Unavailable", Asked: 20*s - 150*time.Millisecond},
		{Replica: "a", To: 20*s - 100*time.Millisecond, Because: series.AfterGoAway, Code: "Unavailable", Asked: 9 * s}, // for its age
	}}
	got := Fleet{}.numbered(fleet, series.Interval{To: 50 * s})[0]
	want := mesh.Departure{To: 100 * time.Millisecond, Stops: mesh.Span{From: 100 * time.Millisecond, To: 1200 * time.Millisecond}}
	if d := got.departure(fleet); d != want || got.to != 20*s-200*time.Millisecond {
		t.Errorf("%+v at %s, want %+v at 19.8s", d, got.to, want)
	}
}
