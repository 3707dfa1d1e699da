package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reckon.dev/reckon/harness/recording"
)

func TestWhatIsThereIsListedAndWhatHappensFollows(t *testing.T) {
	g := newRig(t)
	old := g.api.set("old", "1")
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	added, modified := g.api.set("new", "1"), g.api.set("new", "2")
	deleted := g.api.remove("old")
	got := g.finish()
	for change, want := range map[recording.Change]int{
		recording.Listed: old, recording.Added: added, recording.Modified: modified, recording.Deleted: deleted,
	} {
		if v := got.versions(change); !slices.Equal(v, []int{want}) {
			t.Errorf("%s: versions %v, want %d", change, v, want)
		}
	}
	if len(got.gaps()) > 0 {
		t.Errorf("gaps %+v in a quiet run", got.gaps())
	}
	for _, f := range got {
		if o := f.Object; o.Resource != "configmaps" || o.Namespace != "drill" || bytes.Contains(o.Body, []byte("managedFields")) {
			t.Errorf("recorded %+v with body %s", o, o.Body)
		}
	}
}

func TestEveryVersionIsThereAfterADrop(t *testing.T) {
	for name, how := range map[string]fakeEnding{"connection cut": cutOff, "closed by the server": endOfData} {
		t.Run(name, func(t *testing.T) {
			g := startedRig(t)
			var want []int
			for i := range 50 {
				if i == 20 || i == 35 {
					before := g.api.established()
					g.api.end(how)
					want = append(want, g.api.set(fmt.Sprint("missed-", i), "x"))
					g.api.awaitWatches(g.ctx, before+1)
				}
				want = append(want, g.api.set(fmt.Sprint("m", i%7), fmt.Sprint(i)))
			}
			got := g.finish()
			if v := got.versions(recording.Added, recording.Modified); !slices.Equal(v, want) {
				t.Errorf("versions %v\nwant %v", v, want)
			}
			if len(got.gaps()) == 0 {
				t.Fatal("no gap recorded")
			}
			for _, gap := range got.gaps() {
				if !gap.Lossless || gap.FromNS > gap.ToNS || gap.Resource != "configmaps" || gap.Reason == "" {
					t.Errorf("gap %+v", gap)
				}
			}
		})
	}
}

func TestARenewalIsTheNextOneFromNowOn(t *testing.T) {
	g := startedRig(t)
	g.api.end(endOfData)
	g.api.awaitWatches(g.ctx, 2)
	if err := g.Sync(g.ctx); err != nil {
		t.Fatal(err)
	}
	renewed, err := g.Renewal("configmaps")
	if err != nil {
		t.Fatal(err)
	}
	early, cancel := context.WithCancel(g.ctx)
	cancel()
	if err := renewed(early); !errors.Is(err, context.Canceled) {
		t.Errorf("an earlier cut counts as the next renewal: %v", err)
	}
	g.api.end(endOfData)
	if err := renewed(g.ctx); err != nil {
		t.Error(err)
	}
	if _, err := g.Renewal("pods"); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("renewal of what is not recorded: %v", err)
	}
	g.finish()
}

func TestALosslessGapCoversTheBacklog(t *testing.T) {
	g := startedRig(t)
	g.api.set("a", "before")
	if err := g.Sync(g.ctx); err != nil {
		t.Fatal(err)
	}
	g.api.down()
	missed := g.api.set("a", "while down")
	g.api.up()
	got := g.finish()
	gap := got.onlyGap(t)
	late := got.of(func(f recording.Fact) bool { return f.Object != nil && int(f.Object.RV) == missed })
	if len(late) != 1 || late[0].T < gap.FromNS || late[0].T > gap.ToNS {
		t.Errorf("the missed change came at %+v, outside the gap %+v", late, gap)
	}
}

func TestAnOrderlyEndIsTheBeginOfItsGap(t *testing.T) {
	g := startedRig(t)
	before := int64(g.Now())
	g.api.end(endOfData)
	g.api.awaitWatches(g.ctx, 2)
	if gap := g.finish().onlyGap(t); gap.FromNS < before || !gap.Lossless {
		t.Errorf("gap %+v begins before the server ended the watch, at %d", gap, before)
	}
}

func TestALossyGapBeginsAtTheLastSignOfLife(t *testing.T) {
	g := startedRig(t)
	g.api.set("a", "1")
	before := int64(g.Now())
	if err := g.Sync(g.ctx); err != nil {
		t.Fatal(err)
	}
	after := int64(g.Now())
	g.api.down()
	g.api.forget()
	g.api.up()
	g.api.awaitWatches(g.ctx, 2) // nothing changed meanwhile: a Sync alone does not wait for the cut to be noticed
	if gap := g.finish().onlyGap(t); gap.Lossless || gap.FromNS < before || gap.FromNS > after {
		t.Errorf("gap %+v, want it to begin with the Sync from %d to %d", gap, before, after)
	}
}

func TestAnExpiredVersionIsListedAnewAndItsGapIsLossy(t *testing.T) {
	g := newRig(t)
	g.api.set("stays", "1")
	g.api.set("goes", "1")
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	g.api.down()
	g.api.set("stays", "2")
	g.api.remove("goes")
	last := g.api.set("new", "1")
	g.api.forget()
	g.api.up()
	got := g.finish()
	if gap := got.onlyGap(t); gap.Lossless || !strings.Contains(gap.Reason, "listed anew") {
		t.Errorf("gap %+v", gap)
	}
	if v := got.versions(recording.Listed); !slices.Contains(v, last) {
		t.Errorf("listed %v, without %d", v, last)
	}
	deleted := got.of(func(f recording.Fact) bool { return f.Object != nil && f.Object.Change == recording.Deleted })
	if len(deleted) != 1 || deleted[0].Object.Name != "goes" || int(deleted[0].Object.RV) <= last {
		t.Errorf("deletions noticed: %+v", deleted)
	}
}

func TestAnErrorEventWith410ListsAnew(t *testing.T) {
	g := startedRig(t)
	g.api.set("a", "1")
	if err := g.Sync(g.ctx); err != nil {
		t.Fatal(err)
	}
	g.api.end(gone)
	g.api.awaitWatches(g.ctx, 2)
	got := g.finish()
	if gap := got.onlyGap(t); gap.Lossless || !strings.Contains(gap.Reason, "listed anew") {
		t.Errorf("gap %+v", gap)
	}
	if v := got.versions(recording.Listed); len(v) != 1 {
		t.Errorf("listed %v", v)
	}
}

func TestAServerThatIsDownForTwoSecondsCostsNothing(t *testing.T) {
	g := startedRig(t)
	want := []int{g.api.set("a", "1")}
	g.api.down()
	for i := range 10 {
		want = append(want, g.api.set("a", fmt.Sprint("down ", i)))
	}
	time.Sleep(2 * time.Second)
	g.api.up()
	want = append(want, g.api.set("a", "up"))
	got := g.finish()
	if v := got.versions(recording.Added, recording.Modified); !slices.Equal(v, want) {
		t.Errorf("versions %v, want %v", v, want)
	}
	gap := got.onlyGap(t)
	if length := time.Duration(gap.ToNS - gap.FromNS); !gap.Lossless || length < 2*time.Second {
		t.Errorf("gap %+v of %s", gap, length)
	}
}

func TestARefusingServerIsAskedAgainWithoutABusyLoop(t *testing.T) {
	g := startedRig(t)
	g.api.refuseAll(503)
	g.api.end(endOfData)
	time.Sleep(500 * time.Millisecond)
	g.api.refuseAll(0)
	want := g.api.set("a", "1")
	got := g.finish()
	if v := got.versions(recording.Added); !slices.Equal(v, []int{want}) {
		t.Errorf("versions %v, want %d", v, want)
	}
	if n := g.api.established(); n > 3 {
		t.Errorf("%d watches established", n)
	}
}

func TestBookmarksMoveTheVersionAndAreNotRecorded(t *testing.T) {
	g := startedRig(t)
	last := g.api.bookmark()
	eventually(g.ctx, t, func() bool { return int(g.watches[0].live.version()) == last })
	// Everything before the bookmark is forgotten, and yet the watch resumes.
	g.api.mu.Lock()
	g.api.forgotten = last
	g.api.mu.Unlock()
	g.api.end(cutOff)
	g.api.awaitWatches(g.ctx, 2)
	got := g.finish()
	if gap := got.onlyGap(t); !gap.Lossless {
		t.Errorf("gap %+v", gap)
	}
	if len(got) != 1 {
		t.Errorf("facts %+v, want the gap alone", got)
	}
}

func TestStartFailsForAResourceThatIsNotServed(t *testing.T) {
	g := newRig(t, func(c *Config) { c.Resources = append(c.Resources, Resource{GVR: gvr("unicorns")}) })
	err := g.Start(g.ctx)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "unicorns") {
		t.Errorf("Start: %v", err)
	}
}

func TestStartFailsWhenTheServerStaysDown(t *testing.T) {
	g := newRig(t, func(c *Config) { c.StartTimeout = 300 * time.Millisecond })
	g.api.down()
	if err := g.Start(g.ctx); err == nil || !strings.Contains(err.Error(), "not ready within 300ms") {
		t.Errorf("Start: %v", err)
	}
}

func TestAResourceIsRecordedOnce(t *testing.T) {
	r := Resource{GVR: configMaps}
	w, err := recording.NewWriter(&buffer{}, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Writer: w, Base: time.Now(), REST: newFakeAPI(t).config(), Resources: []Resource{r, r}})
	if err == nil {
		t.Error("no error")
	}
}

func TestTheEndOfTheContextEndsTheWatches(t *testing.T) {
	g := newRig(t)
	ctx, cancel := context.WithCancel(g.ctx)
	if err := g.Start(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err := g.Wait(g.ctx, "configmaps", "drill", func(State) bool { return true })
	if !errors.Is(err, ErrStopped) {
		t.Errorf("Wait: %v", err)
	}
	g.StepBegin("tear-down") // still taken
	if got := g.close(); len(got) != 1 || got[0].Step == nil {
		t.Errorf("facts %+v, want the step alone and no gap", got)
	}
}

func TestAGapStillOpenAtTheEndIsLossy(t *testing.T) {
	g := startedRig(t)
	g.api.down()
	eventually(g.ctx, t, func() bool {
		gap := &g.watches[0].gap
		gap.mu.Lock()
		defer gap.mu.Unlock()
		return gap.open
	})
	if gap := g.close().onlyGap(t); gap.Lossless {
		t.Errorf("gap %+v", gap)
	}
}

func TestEventsReceivedBeforeStopAreWritten(t *testing.T) {
	g := startedRig(t)
	var want []int
	for i := range 500 {
		want = append(want, g.api.set("a", fmt.Sprint(i)))
	}
	got := g.finish()
	if v := got.versions(recording.Added, recording.Modified); !slices.Equal(v, want) {
		t.Errorf("%d versions, want %d", len(v), len(want))
	}
}

func TestADeletionIsPartOfSync(t *testing.T) {
	g := newRig(t)
	g.api.set("a", "1")
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	g.api.remove("a")
	if err := g.Sync(g.ctx, "configmaps"); err != nil {
		t.Fatal(err)
	}
	if _, ok := g.Latest("configmaps", "drill", "a"); ok {
		t.Error("the deleted object is still there after Sync")
	}
	if err := g.Sync(g.ctx, "pods"); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("Sync of pods: %v", err)
	}
}
