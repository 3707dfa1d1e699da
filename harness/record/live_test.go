package record

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
)

func holds(text string) func(State) bool {
	return func(s State) bool { return bytes.Contains(s.Body, []byte(text)) }
}

// waiting runs a wait and returns once it is registered.
func (g *rig) waiting(match func(State) bool) <-chan error {
	g.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := g.Wait(g.ctx, "configmaps", "drill", match)
		done <- err
	}()
	eventually(g.ctx, g.t, func() bool {
		l := g.watches[0].live
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.waiters) > 0
	})
	return done
}

func TestAWaiterSeesTheCurrentState(t *testing.T) {
	g := newRig(t)
	g.api.set("a", "here")
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	s, err := g.Wait(g.ctx, "configmaps", "", holds("here"))
	if err != nil || s.Name != "a" || s.Change != recording.Listed {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAWaiterMissesNoShortLivedState(t *testing.T) {
	g := startedRig(t)
	done := g.waiting(holds("blink"))
	g.api.set("a", "blink")
	g.api.set("a", "gone again")
	g.api.remove("a")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAWaiterIsOfferedDeletions(t *testing.T) {
	g := startedRig(t)
	g.api.set("a", "1")
	done := g.waiting(func(s State) bool { return s.Change == recording.Deleted && s.Name == "a" })
	g.api.remove("a")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := g.WaitGone(g.ctx, "configmaps", "drill", "a"); err != nil {
		t.Error(err)
	}
}

func TestAWaiterIsWokenAfterAReconnect(t *testing.T) {
	g := startedRig(t)
	done := g.waiting(holds("while down"))
	g.api.down()
	g.api.set("a", "while down")
	g.api.up()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAWaitEndsWithItsContextOrTheRecorder(t *testing.T) {
	g := startedRig(t)
	ctx, cancel := context.WithTimeout(g.ctx, 20*time.Millisecond)
	defer cancel()
	never := func(State) bool { return false }
	if _, err := g.Wait(ctx, "configmaps", "", never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the context's end: %v", err)
	}
	if _, err := g.Wait(g.ctx, "pods", "", never); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("of an unrecorded resource: %v", err)
	}
	done := g.waiting(never)
	if err := g.Stop(g.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestTheLatestStateIsKept(t *testing.T) {
	g := startedRig(t)
	g.api.set("b", "1")
	g.api.set("a", "1")
	g.api.set("a", "2")
	if err := g.Sync(g.ctx); err != nil {
		t.Fatal(err)
	}
	body, ok := g.Latest("configmaps", "drill", "a")
	if !ok || !bytes.Contains(body, []byte(`"v":"2"`)) {
		t.Errorf("latest: %s, %v", body, ok)
	}
	all := g.Objects("configmaps", "drill")
	if len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("objects: %+v", all)
	}
	if len(g.Objects("configmaps", "elsewhere")) > 0 {
		t.Error("objects of a namespace that has none")
	}
}
