package xdsfleet

import (
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
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
	asked := r.await(20, recording.GoAway)
	closed := r.await(20, recording.Closed)
	r.await(40, recording.Connected)
	if totals := r.end(); totals.Connects-totals.Closes != totals.Open || totals.GoAways < totals.Closes {
		t.Errorf("%+v", totals)
	}
	for _, e := range asked {
		if e.AgeNS < int64(200*time.Millisecond) || e.Replica == "" {
			t.Errorf("asked to leave: %+v", e)
		}
	}
	for _, e := range closed {
		if e.Code != "Unavailable" || e.AgeNS < int64(time.Second) {
			t.Errorf("cut off: %+v", e)
		}
	}
}
