package record

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// memoryFields are the lines of a process's status that are sampled
// (Documentation/filesystems/proc.rst, table 1-2).
var memoryFields = map[string]string{
	"VmRSS": recording.ResidentMemory, "VmHWM": recording.PeakMemory, "RssAnon": recording.AnonymousMemory,
}

// Memory makes a sampler of a process's memory, as Linux counts it. Peaks are the
// kernel's, so that none is missed between two looks. As of Metrics, only what has
// changed is sampled. Elsewhere than on Linux there is nothing to sample.
func Memory(name string, interval time.Duration, pid int, labels map[string]string) Sampler {
	last := map[string]float64{}
	return Sampler{Name: name, Interval: interval, Sample: func(context.Context) ([]recording.Sample, error) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			return nil, fmt.Errorf("memory of process %d: %w", pid, err)
		}
		return memoryOf(string(text), labels, last)
	}}
}

// memoryOf reads a status. A process that is about to be reaped has none of the fields.
func memoryOf(status string, labels map[string]string, last map[string]float64) ([]recording.Sample, error) {
	var out []recording.Sample
	for line := range strings.Lines(status) {
		field, value, _ := strings.Cut(line, ":")
		series, wanted := memoryFields[field]
		if !wanted {
			continue
		}
		kB, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return nil, fmt.Errorf("memory of a process: %q is no number of kB", strings.TrimSpace(line))
		}
		if bytes := kB * 1024; last[series] != bytes {
			last[series] = bytes
			out = append(out, recording.Sample{Series: series, Labels: labels, Value: bytes})
		}
	}
	return out, nil
}
