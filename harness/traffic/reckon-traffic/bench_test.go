package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/traffic/xdstest"
)

// BenchmarkClient measures what a client costs and how punctual it is at 500
// requests per second: its processor time (aim: 0.3 cores), and of the latest
// request of each 100 ms the median, the 99th percentile and the maximum (aim: a
// 99th percentile of 5 ms on an idle machine). Client and server are processes of their own.
func BenchmarkClient(b *testing.B) {
	rate := []string{"-rate", "500", "-duration", "10s"}
	for _, bm := range []struct {
		name  string
		start func(*testing.B, *server) (*program, *record)
	}{
		{"grpc", func(b *testing.B, s *server) (*program, *record) { return proxyless(b, s.grpcAt, rate...) }},
		{"http", func(b *testing.B, s *server) (*program, *record) { return overHTTP(b, s, rate...) }},
		{"http-keep-alive", func(b *testing.B, s *server) (*program, *record) {
			return overHTTP(b, s, append(rate, "-keep-alive")...)
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				s := startServer(b)
				began := time.Now()
				client, r := bm.start(b, s)
				answered, failures := r.counts(b)
				client.exitCode()
				took := time.Since(began)
				if len(failures) > 0 {
					b.Errorf("failures %v", failures)
				}
				state := client.cmd.ProcessState
				b.ReportMetric((state.UserTime()+state.SystemTime()).Seconds()/took.Seconds(), "cores")
				b.ReportMetric(float64(answered)/took.Seconds(), "answers/s")
				late := r.lateness()
				for name, share := range map[string]float64{"late-p50-ms": 0.5, "late-p99-ms": 0.99, "late-max-ms": 1} {
					b.ReportMetric(late[int(share*float64(len(late)-1))].Seconds()*1000, name)
				}
			}
		})
	}
}

func overHTTP(b *testing.B, s *server, more ...string) (*program, *record) {
	b.Helper()
	p := start(b, append(strings.Fields("load -transport http -target http://"+s.httpAt), more...))
	return p, tap(b, "http", p.out)
}

// lateness is that of each bin's latest request, sorted.
func (r *record) lateness() []time.Duration {
	var out []time.Duration
	for _, f := range r.facts {
		if f.Traffic != nil {
			out = append(out, time.Duration(f.Traffic.LateNS))
		}
	}
	slices.Sort(out)
	return out
}

// BenchmarkFleet measures what 3000 proxies cost that connect to eight istiods with a
// mesh of 50 Services, at once or over 10 s: how long until the last is connected
// (aim: 30 s), how late the fleet noticed anything at most meanwhile, the most memory
// it ever had (aim: 350 MB) and what is left of it, and its processor time when idle
// (aim: half a core). The istiods are in the process of the benchmark.
func BenchmarkFleet(b *testing.B) {
	const proxies = 3000
	var mesh xdstest.Mesh
	for i := range 50 {
		mesh = append(mesh, fmt.Sprintf("service-%02d.demo.svc.cluster.local", i))
	}
	for _, over := range []string{"0s", "10s"} {
		b.Run("over-"+over, func(b *testing.B) {
			for b.Loop() {
				began := time.Now()
				p, r, _ := fleet(b, 8, mesh, "-proxies", fmt.Sprint(proxies), "-over", over)
				r.awaitOpen(b, proxies, time.Minute)
				b.ReportMetric(time.Since(began).Seconds(), "s-to-connect")
				time.Sleep(5 * time.Second) // what the start left to do
				before, from := p.processorTime(), time.Now()
				time.Sleep(40 * time.Second) // each connection is asked for a sign of life every 30 s
				b.ReportMetric((p.processorTime()-before).Seconds()/time.Since(from).Seconds(), "cores-idle")
				b.ReportMetric(float64(p.memoryKB("VmHWM"))/1000, "MB-most")
				b.ReportMetric(float64(p.memoryKB("VmRSS"))/1000, "MB")
				b.ReportMetric(float64(p.memoryKB("VmRSS"))/proxies, "kB/connection")
				p.term()
				r.done.Wait()
				if err := r.tap.Close(); err != nil {
					b.Error(err)
				}
				b.ReportMetric(r.fleetLate().Seconds()*1000, "late-max-ms")
			}
		})
	}
}

// fleetLate is how late a fleet ever was.
func (r *record) fleetLate() (most time.Duration) {
	for _, f := range r.facts {
		if f.Late != nil {
			most = max(most, time.Duration(f.Late.ByNS))
		}
	}
	return most
}

// processorTime is what the program has used so far.
func (p *program) processorTime() time.Duration {
	p.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skip("the processor time of a process is read off /proc: ", err)
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	var user, system int64
	for i, field := range strings.Fields(after) { // proc_pid_stat(5): fields 14 and 15, in hundredths of a second
		switch i {
		case 11:
			_, err = fmt.Sscan(field, &user)
		case 12:
			_, err = fmt.Sscan(field, &system)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memoryKB is a line of the program's /proc/PID/status.
func (p *program) memoryKB(name string) (kb int64) {
	p.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(raw), name+":")
	if _, err := fmt.Sscan(after, &kb); err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	return kb
}
