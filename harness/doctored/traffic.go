package doctored

import (
	"slices"

	"reckon.dev/reckon/harness/recording"
)

// Requests returns the indexes of the facts about a client's requests, in order.
// There must be some.
func (tp *Tape) Requests(client string) []int {
	tp.t.Helper()
	var out []int
	for i, f := range tp.Facts {
		if f.Traffic != nil && f.Traffic.Client == client {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		tp.t.Fatalf("the recording has no requests of client %s", client)
	}
	return out
}

// During are those of the indexes whose requests were due while a step ran.
func (tp *Tape) During(step string, requests []int) []int {
	tp.t.Helper()
	from, to := tp.Facts[tp.StepBegin(step)].T, tp.end
	for _, f := range tp.Facts {
		if f.Step != nil && f.Step.Name == step && f.Step.Phase == "end" {
			to = f.T
		}
	}
	return slices.DeleteFunc(slices.Clone(requests), func(i int) bool {
		tr := tp.Facts[i].Traffic
		return tr.FromNS < from || to < tr.ToNS
	})
}

// MoveAnswers gives another version up to n of the answers of each of the facts,
// as if the client had chosen it. It returns how many it moved.
func (tp *Tape) MoveAnswers(requests []int, from, to string, n int64) int64 {
	moved := int64(0)
	for _, i := range requests {
		tr := tp.own(i)
		got := take(tr, from, n)
		moved += got
		if got > 0 {
			tr.Answers = append(tr.Answers, recording.Answer{Version: to, Pod: to + "-doctored", N: got})
		}
	}
	return moved
}

// Fail turns up to n answers of each of the facts into a failure: f, with its
// number replaced. It returns how many failed.
func (tp *Tape) Fail(requests []int, version string, f recording.Failure, n int64) int64 {
	failed := int64(0)
	for _, i := range requests {
		tr := tp.own(i)
		f.N = take(tr, version, n)
		failed += f.N
		if f.N > 0 {
			tr.Failures = append(tr.Failures, f)
			forget(tr, f.N)
		}
	}
	return failed
}

// own is the client's account in a fact, as a copy that may be changed.
func (tp *Tape) own(i int) *recording.Traffic {
	tr := *tp.Facts[i].Traffic
	tr.Answers, tr.Failures, tr.Latency = slices.Clone(tr.Answers), slices.Clone(tr.Failures), slices.Clone(tr.Latency)
	tp.Facts[i].Traffic = &tr
	return &tr
}

// take takes up to n answers of a version out of an account. Their latencies stay.
func take(tr *recording.Traffic, version string, n int64) int64 {
	taken := int64(0)
	for i := range tr.Answers {
		if a := &tr.Answers[i]; a.Version == version {
			part := min(a.N, n-taken)
			a.N, taken = a.N-part, taken+part
		}
	}
	tr.Answers = slices.DeleteFunc(tr.Answers, func(a recording.Answer) bool { return a.N == 0 })
	return taken
}

// forget takes latencies off an account, the lowest first: what failed has none.
func forget(tr *recording.Traffic, n int64) {
	for i := range tr.Latency {
		part := min(tr.Latency[i].N, n)
		tr.Latency[i].N, n = tr.Latency[i].N-part, n-part
	}
	tr.Latency = slices.DeleteFunc(tr.Latency, func(b recording.Bucket) bool { return b.N == 0 })
}

// DropAll leaves facts out, such as intervals of a client.
func (tp *Tape) DropAll(facts []int) {
	for _, i := range slices.Backward(slices.Sorted(slices.Values(facts))) {
		tp.Drop(i)
	}
}

// Dies leaves out what a client saw after the nth of its facts: it died then.
func (tp *Tape) Dies(client string, after int) {
	tp.t.Helper()
	all := tp.Requests(client)
	tp.DropAll(all[min(after, len(all)):])
}
