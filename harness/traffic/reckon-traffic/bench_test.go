package main

import (
	"slices"
	"strings"
	"testing"
	"time"
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
