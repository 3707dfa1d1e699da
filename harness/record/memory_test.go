package record

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
)

const status = "Name:\tpilot-discovery\nVmPeak:\t 1500000 kB\nVmHWM:\t  120000 kB\nVmRSS:\t  110000 kB\nRssAnon:\t   50000 kB\nThreads:\t12\n"

func TestMemoryIsSampledWhereItChanged(t *testing.T) {
	t.Parallel()
	labels, last := map[string]string{"replica": "istiod-0"}, map[string]float64{}
	sample := func(series string, kB float64) recording.Sample {
		return recording.Sample{Series: series, Labels: labels, Value: kB * 1024}
	}
	for _, c := range []struct {
		name, status string
		want         []recording.Sample
	}{
		{"all of it at first", status, []recording.Sample{
			sample(recording.PeakMemory, 120000), sample(recording.ResidentMemory, 110000), sample(recording.AnonymousMemory, 50000)}},
		{"nothing while it stays", status, nil},
		{"what is less", strings.Replace(status, "110000", "90000", 1), []recording.Sample{sample(recording.ResidentMemory, 90000)}},
		{"nothing of a process that has none any more", "Name:\tpilot-discovery\nState:\tZ (zombie)\n", nil},
	} {
		got, err := memoryOf(c.status, labels, last)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, error %v", c.name, got, err)
		}
	}
	if _, err := memoryOf("VmRSS:\tmany\n", labels, last); err == nil {
		t.Error("a number that is none was taken")
	}
}

func TestMemoryOfThisProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	got, err := Memory("memory", time.Second, os.Getpid(), nil).Sample(t.Context())
	if err != nil || len(got) != len(memoryFields) {
		t.Fatalf("%+v, error %v", got, err)
	}
	for _, s := range got {
		if s.Value < 1<<20 {
			t.Errorf("%s is %g bytes, less than any Go program has", s.Series, s.Value)
		}
	}
	if _, err := Memory("memory", time.Second, 1<<30, nil).Sample(t.Context()); err == nil {
		t.Error("a process that is none was sampled")
	}
}
