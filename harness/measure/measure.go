// Package measure is what the benchmarks share.
package measure

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Numbers are measurements of one and the same thing.
type Numbers []float64

// Time adds the seconds that a function takes.
func (n *Numbers) Time(f func()) {
	begin := time.Now()
	f()
	*n = append(*n, time.Since(begin).Seconds())
}

// Times multiplies every number, for another unit.
func (n Numbers) Times(factor float64) Numbers {
	out := slices.Clone(n)
	for i := range out {
		out[i] *= factor
	}
	return out
}

// Median is the middle one, 0 of none.
func (n Numbers) Median() float64 {
	if len(n) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(n))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Report reports the median as the benchmark's metric of that name and logs it
// with its range.
func (n Numbers) Report(b *testing.B, name string) {
	b.Helper()
	b.ReportMetric(n.Median(), name)
	if len(n) > 1 {
		b.Logf("%s: median %.4g, min %.4g, max %.4g of %d", name, n.Median(), slices.Min(n), slices.Max(n), len(n))
	}
}

// HideTime takes the line "ns/op" from a benchmark whose operations are not
// what it is about.
func HideTime(b *testing.B) { b.ReportMetric(0, "ns/op") }

// Heap watches the heap, garbage included, until the returned function is
// called, which gives by how many MB it grew at most. Memory that is garbage at
// the begin is not counted.
func Heap() (grown func() float64) {
	runtime.GC()
	base := heapBytes()
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		most := base
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heapBytes())
			select {
			case <-tick.C:
			case <-stop:
				result <- most
				return
			}
		}
	}()
	return func() float64 { close(stop); return float64(<-result-base) / 1e6 }
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// CPU is the processor time of this process so far. On a busy machine
// it says more than the wall clock.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
