//go:build linux

package embedded

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestPortsNeverClashBetweenGoroutines(t *testing.T) {
	const makers = 40
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]int{}
	for range makers {
		wg.Go(func() {
			rs, err := reservePorts(5)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range rs {
				seen[r.port]++
			}
			t.Cleanup(func() { releaseAll(rs) })
		})
	}
	wg.Wait()
	if len(seen) != 5*makers {
		t.Errorf("%d different ports, want %d", len(seen), 5*makers)
	}
}

func TestPortsNeverClashBetweenProcesses(t *testing.T) {
	const makers = 12
	var others []*other
	for range makers {
		others = append(others, startOther(t, "ports"))
	}
	seen := map[string]bool{}
	for _, o := range others {
		for _, port := range strings.Fields(o.line(t)) {
			if seen[port] {
				t.Errorf("port %s was given twice", port)
			}
			seen[port] = true
		}
	}
	if want := makers * len(portNames()); len(seen) != want {
		t.Errorf("%d ports, want %d", len(seen), want)
	}
}

func TestReservationEndsWithItsHolder(t *testing.T) {
	o := startOther(t, "ports")
	port, err := strconv.Atoi(strings.Fields(o.line(t))[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reservePort(port); !errors.Is(err, errPortTaken) {
		t.Fatalf("reserved twice: %v", err)
	}
	o.kill()
	r, err := reservePort(port)
	if err != nil {
		t.Fatalf("still reserved after kill -9: %v", err)
	}
	r.release()
}

func TestPortOfAStrangerIsNotReserved(t *testing.T) {
	rs, err := reservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	port := rs[0].port
	rs[0].release()
	for _, address := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			t.Skip("somebody was faster:", err)
		}
		if _, err := reservePort(port); !errors.Is(err, errPortTaken) {
			t.Errorf("reserved a port that %s listens on: %v", l.Addr(), err)
		}
		_ = l.Close()
	}
}

func TestCandidatesAvoidEphemeralPorts(t *testing.T) {
	for _, c := range []struct{ low, high, want int }{
		{32768, 60999, 10000},
		{25000, 65535, 5000},
		{15000, 24999, 5000},
		{22000, 22999, 9000},
	} {
		got, err := candidatePorts(c.low, c.high)
		if err != nil || len(got) != c.want {
			t.Errorf("%d-%d: %d candidates, %v; want %d", c.low, c.high, len(got), err, c.want)
		}
		for _, port := range got {
			if port >= c.low && port <= c.high {
				t.Fatalf("%d-%d: %d is ephemeral", c.low, c.high, port)
			}
		}
	}
	if _, err := candidatePorts(1024, 65535); err == nil {
		t.Error("all ports are ephemeral, and nobody says so")
	}
}
