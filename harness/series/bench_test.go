package series_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"reckon.dev/reckon/harness/measure"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// slowest is how many MB of a recording must at least be read in a second of
// processor time.
const slowest = 50

// BenchmarkSums reads the totals of a recording in which 1,000 pods are replaced
// by 1,000 others: what lives, is ready and leaves, of each version.
func BenchmarkSums(b *testing.B) {
	const rounds = 5
	file := podRecording(b, 1000)
	var defs []series.Definition
	for _, version := range []string{"v1", "v2"} {
		for state, counts := range map[string]func(*series.View) bool{
			"live":    func(v *series.View) bool { return v.Metadata.DeletionTimestamp == "" },
			"ready":   func(v *series.View) bool { return v.Metadata.DeletionTimestamp == "" && v.Is("Ready", "True") },
			"leaving": func(v *series.View) bool { return v.Metadata.DeletionTimestamp != "" },
		} {
			defs = append(defs, series.Definition{Name: state + " " + version, Sum: &series.SumOfObjects{Resource: pods, Namespace: "drill", Value: func(v *series.View) (float64, bool) {
				return 1, v.Metadata.Labels["version"] == version && counts(v)
			}}})
		}
	}
	var wall, cpu, heap measure.Numbers
	for b.Loop() {
		for range rounds {
			grown, used, begin := measure.Heap(), measure.CPU(), time.Now()
			r, err := recording.NewReader(bytes.NewReader(file))
			if err != nil {
				b.Fatal(err)
			}
			set, err := series.Read(r, defs)
			if err != nil {
				b.Fatal(err)
			}
			size := float64(r.Trailer().Bytes) / 1e6
			wall = append(wall, size/time.Since(begin).Seconds())
			cpu = append(cpu, size/(measure.CPU()-used).Seconds())
			heap = append(heap, grown())
			r.Close()
			if ready, err := set.Get("ready v2"); err != nil || len(ready.Points) != 1001 {
				b.Fatalf("%v, ready v2: %v", err, ready)
			}
		}
	}
	measure.HideTime(b)
	wall.Report(b, "MB/s")
	cpu.Report(b, "MB/cpu-s")
	heap.Report(b, "heap_MB")
	if best := slices.Max(cpu); best < slowest { // the round that others disturbed least
		b.Errorf("%.3g MB in a second of processor time at best, expected at least %d", best, slowest)
	}
}

// podRecording is a recording of n pods that become ready, and then are replaced.
func podRecording(b *testing.B, n int) []byte {
	b.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		b.Fatal(err)
	}
	rv := uint64(0)
	write := func(change recording.Change, i int, version, phase, ready, deletion string) {
		rv++
		name := fmt.Sprintf("demo-6f7c9d5b7c-%s-%d", version, i)
		f := recording.Fact{T: int64(rv) * int64(time.Millisecond), Object: &recording.Object{
			Change: change, Resource: pods, Namespace: "drill", Name: name, RV: rv, Body: podBody(name, version, phase, ready, deletion, rv),
		}}
		if err := w.Append(f); err != nil {
			b.Fatal(err)
		}
	}
	come := func(i int, version string) {
		write(recording.Added, i, version, "Pending", "False", "")
		write(recording.Modified, i, version, "Pending", "False", "")
		write(recording.Modified, i, version, "Running", "False", "")
		write(recording.Modified, i, version, "Running", "True", "")
	}
	for i := range n {
		come(i, "v1")
	}
	for i := range n {
		come(i, "v2")
		const now = `"deletionTimestamp":"2026-01-02T03:05:06Z","deletionGracePeriodSeconds":30,`
		write(recording.Modified, i, "v1", "Running", "True", now)
		write(recording.Modified, i, "v1", "Running", "False", now)
		write(recording.Deleted, i, "v1", "Running", "False", now)
	}
	if err := w.Close(int64(rv) * int64(time.Millisecond)); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// podBody is a pod as it is recorded.
func podBody(name, version, phase, ready, deletion string, rv uint64) json.RawMessage {
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}`, kind, status)
	}
	return json.RawMessage(fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"drill","uid":"5d8a5e0e-5f7e-4b0e-9d5e-%012d","resourceVersion":"%d","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z",%s`+
		`"labels":{"app":"demo","version":%q,"pod-template-hash":"6f7c9d5b7c"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"demo-6f7c9d5b7c","uid":"8b1f2f3c-1111-4222-8333-444455556666","controller":true,"blockOwnerDeletion":true}]},`+
		`"spec":{"nodeName":"node-3","readinessGates":[{"conditionType":"reckon.dev/scripted"}]},`+
		`"status":{"phase":%q,"conditions":[%s,%s,%s,%s],"podIP":"10.244.0.7","startTime":"2026-01-02T03:04:05Z","containerStatuses":[{"name":"app","ready":true,"restartCount":0,"started":true}]}}`,
		name, rv, rv, deletion, version, phase, condition("Initialized", "True"), condition("PodScheduled", "True"), condition("ContainersReady", ready), condition("Ready", ready)))
}
