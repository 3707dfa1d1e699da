package incluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

var talker = Container{Namespace: "ns", Pod: "pod", Name: "main"}

// kubelet answers for one container as an API server does: what was written so
// far, from sinceTime on, and what comes, until it breaks or the container ends.
type kubelet struct {
	t *testing.T

	mu       sync.Mutex
	current  []string // "<time> <line>\n" of the run called id
	previous []string
	status   corev1.ContainerStatus
	gone     bool
	breaks   []int // lines after which each follow breaks
	unclean  bool  // breaks within a line, with an error
	follows  int
	changed  chan struct{}
}

func newKubelet(t *testing.T) (*kubelet, *Client) {
	t.Helper()
	k := &kubelet{t: t, changed: make(chan struct{})}
	k.run("one")
	server := httptest.NewServer(http.HandlerFunc(k.serve))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return k, c
}

func (k *kubelet) change(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kubelet) run(id string) {
	k.change(func() {
		k.status = corev1.ContainerStatus{Name: "main", ContainerID: id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	})
}

func (k *kubelet) end() {
	k.change(func() {
		k.status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: k.status.ContainerID}}
	})
}

// restart ends the run and begins another.
func (k *kubelet) restart() {
	k.change(func() {
		last := k.status.ContainerID
		k.previous, k.current = k.current, nil
		k.status.RestartCount++
		k.status.ContainerID = last + "+"
		k.status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: last}}
	})
}

// write writes lines, each at its number of milliseconds.
func (k *kubelet) write(from, to int) {
	k.change(func() {
		for i := from; i < to; i++ {
			k.current = append(k.current, stamped(time.Duration(i)*time.Millisecond, "line "+strconv.Itoa(i)))
		}
	})
}

var base = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func stamped(at time.Duration, line string) string {
	return base.Add(at).Format(time.RFC3339Nano) + " " + line + "\n"
}

func (k *kubelet) serve(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	gone, status := k.gone, k.status
	k.mu.Unlock()
	switch {
	case gone:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404})
	case strings.HasSuffix(r.URL.Path, "/log"):
		k.log(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.Pod{
			TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", UID: "uid"},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}},
		})
	}
}

func (k *kubelet) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	follow, previous := q.Get("follow") == "true", q.Get("previous") == "true"
	since, _ := time.Parse(time.RFC3339, q.Get("sinceTime"))
	k.mu.Lock()
	limit := -1
	if follow {
		if k.follows < len(k.breaks) {
			limit = k.breaks[k.follows]
		}
		k.follows++
	}
	run := k.status.ContainerID
	k.mu.Unlock()
	sent := 0
	for done := 0; ; {
		k.mu.Lock()
		lines, changed := k.current, k.changed
		if previous {
			lines = k.previous
		}
		over := !follow || k.status.ContainerID != run || k.status.State.Running == nil
		k.mu.Unlock()
		for ; done < len(lines); done++ {
			e, err := parseEntry(lines[done])
			if err == nil && e.at.Before(since) {
				continue
			}
			if sent == limit {
				if k.unclean {
					fmt.Fprint(w, lines[done][:len(lines[done])/2])
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
				return
			}
			sent++
			fmt.Fprint(w, lines[done])
		}
		w.(http.Flusher).Flush()
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// collect follows the log in the background.
func collect(ctx context.Context, c *Client) (lines func() []string, result chan error) {
	var mu sync.Mutex
	var got []string
	result = make(chan error, 1)
	go func() {
		result <- c.FollowLog(ctx, talker, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, line)
		})
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}, result
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 10 s", what)
		}
	}
}

func wantLines(t *testing.T, got []string, to int) {
	t.Helper()
	for i := range max(len(got), to) {
		if i >= len(got) || i >= to || got[i] != "line "+strconv.Itoa(i) {
			t.Fatalf("%d lines, want %d in order; the first other one is number %d: %q", len(got), to, i, got[min(i, len(got)):min(i+1, len(got))])
		}
	}
}

func TestEveryLineComesOnceHoweverOftenTheStreamBreaks(t *testing.T) {
	t.Parallel()
	for _, unclean := range []bool{false, true} {
		t.Run(fmt.Sprintf("unclean=%t", unclean), func(t *testing.T) {
			t.Parallel()
			k, c := newKubelet(t)
			k.breaks, k.unclean = []int{0, 1, 700, 3, 8000, 5500, 6001}, unclean
			k.write(0, 1000)
			lines, result := collect(t.Context(), c)
			await(t, "first lines", func() bool { return len(lines()) > 700 })
			k.write(1000, 20000) // 19 s, many times as much as is kept
			await(t, "further follows", func() bool { k.mu.Lock(); defer k.mu.Unlock(); return k.follows > len(k.breaks) })
			await(t, "line 20000", func() bool { return len(lines()) == 20000 })
			k.write(20000, 20010)
			k.end()
			if err := <-result; err != nil {
				t.Fatal(err)
			}
			wantLines(t, lines(), 20010)
		})
	}
}

func TestALineThatIsOlderThanTheOneBeforeItIsNotLostAtACut(t *testing.T) {
	t.Parallel()
	k, c := newKubelet(t)
	k.breaks = []int{1}
	k.change(func() {
		k.current = []string{stamped(3*time.Second, "line 0"), stamped(time.Second, "line 1"), stamped(time.Second, "line 2")}
	})
	lines, result := collect(t.Context(), c)
	await(t, "lines", func() bool { return len(lines()) == 3 })
	k.end()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines(), 3)
}

func TestEqualLinesOfTheSameTimeAreSeveralLines(t *testing.T) {
	t.Parallel()
	k, c := newKubelet(t)
	k.breaks = []int{2}
	k.change(func() {
		for range 5 {
			k.current = append(k.current, stamped(0, "again"))
		}
	})
	lines, result := collect(t.Context(), c)
	await(t, "lines", func() bool { return len(lines()) == 5 })
	k.end()
	if err := <-result; err != nil || len(lines()) != 5 {
		t.Fatalf("%q, %v", lines(), err)
	}
}

func TestTheRestOfALogIsReadWhenItsContainerRestarted(t *testing.T) {
	t.Parallel()
	k, c := newKubelet(t)
	k.breaks = []int{3}
	k.write(0, 3)
	lines, result := collect(t.Context(), c)
	await(t, "lines", func() bool { return len(lines()) == 3 })
	k.write(3, 50)
	k.restart()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines(), 50)
}

func TestWhatWasWrittenUntilTheContextEndsIsDelivered(t *testing.T) {
	t.Parallel()
	k, c := newKubelet(t)
	k.write(0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	lines, result := collect(ctx, c)
	await(t, "lines", func() bool { return len(lines()) == 10 })
	k.write(10, 5000)
	cancel()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines(), 5000)
}

func TestWhatCannotBeKnownToBeWholeIsReported(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(k *kubelet){
		"the pod went away":                 func(k *kubelet) { k.change(func() { k.gone = true; k.status.ContainerID = "none" }) },
		"the file was rotated":              func(k *kubelet) { k.change(func() { k.current = []string{stamped(time.Second, "line 77")} }); k.end() },
		"the file was emptied":              func(k *kubelet) { k.change(func() { k.current = nil }); k.end() },
		"the container restarted two times": func(k *kubelet) { k.change(func() { k.status.ContainerID = "three" }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, c := newKubelet(t)
			k.write(0, 5)
			lines, result := collect(t.Context(), c)
			await(t, "lines", func() bool { return len(lines()) == 5 })
			do(k)
			if err := <-result; !errors.Is(err, ErrLogIncomplete) {
				t.Fatalf("error %v", err)
			}
			wantLines(t, lines(), 5)
		})
	}
}

func TestAContainerThatHasNotStartedIsWaitedFor(t *testing.T) {
	t.Parallel()
	k, c := newKubelet(t)
	k.change(func() {
		k.status = corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	})
	lines, result := collect(t.Context(), c)
	time.Sleep(3 * poll)
	k.run("one")
	k.write(0, 5)
	await(t, "lines", func() bool { return len(lines()) == 5 })
	k.end()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if err := c.FollowLog(t.Context(), Container{"ns", "pod", "other"}, nil); err == nil || errors.Is(err, ErrLogIncomplete) {
		t.Errorf("of a container that is not there: %v", err)
	}
}

func TestTheKubeletsOwnMessagesAreNoLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-30T12:00:00.123456789Z a line\n":                "a line",
		"2026-11-30T12:00:00.123456789Z \n":                      "",
		"2026-11-30T12:00:00.123456789Z  two blanks, one ours\n": " two blanks, one ours",
		"2026-11-30T12:00:00Z {\"a\": 1}":                        `{"a": 1}`,
	} {
		if e, err := parseEntry(text); err != nil || e.line != want {
			t.Errorf("%q: %q, %v", text, e.line, err)
		}
	}
	if _, err := parseEntry("unable to retrieve container logs for containerd://abc"); err == nil || !strings.Contains(err.Error(), "containerd://abc") {
		t.Errorf("error %v", err)
	}
}
