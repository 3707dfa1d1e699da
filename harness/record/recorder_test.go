package record

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
)

func TestScriptFactsComeInOrderWithOneClock(t *testing.T) {
	g := startedRig(t)
	g.StepBegin("upgrade")
	g.LogLine("istiod")("ready")
	g.Call(recording.Call{Verb: "patch", Body: []byte("not JSON")})
	g.StepEnd("upgrade", errors.New("no"))
	g.Fault("istiod", "exit status 1")
	got := g.close()
	if len(got) != 5 || got[0].Step.Phase != "begin" || got[1].Log.Line != "ready" ||
		string(got[2].Call.Body) != `"8 bytes"` || got[3].Step.Error != "no" || got[4].Fault.What != "istiod" {
		t.Errorf("facts %+v", got)
	}
}

func TestFactsAfterStopAreDropped(t *testing.T) {
	g := startedRig(t)
	if err := g.Stop(g.ctx); err != nil {
		t.Fatal(err)
	}
	g.StepBegin("too late")
	if got := g.close(); len(got) > 0 {
		t.Errorf("facts %+v", got)
	}
}

func TestLongLogLinesAreCut(t *testing.T) {
	g := startedRig(t)
	g.LogLine("istiod")(strings.Repeat("x", maxLogLine+1))
	if got := g.close(); len(got[0].Log.Line) != maxLogLine {
		t.Errorf("%d bytes", len(got[0].Log.Line))
	}
}

func TestAFullDiskIsReportedOnce(t *testing.T) {
	var calls atomic.Int32
	told := make(chan error, 10)
	g := newRig(t, func(c *Config) {
		w, err := recording.NewWriter(&buffer{limit: 2000}, recording.Header{Base: c.Base})
		if err != nil {
			t.Fatal(err)
		}
		c.Writer = w
		c.OnFault = func(err error) { calls.Add(1); told <- err }
	})
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 20000 { // far more than the disk and the queue hold
		g.StepBegin(strings.Repeat(string(rune('a'+i%26)), 50+i%50))
	}
	if err := <-told; err.Error() != "the recording could not be written: no space left on device" {
		t.Errorf("fault: %v", err)
	}
	if err := g.Err(); !errors.Is(err, errFull) {
		t.Errorf("Err: %v", err)
	}
	if err := g.Stop(g.ctx); !errors.Is(err, errFull) {
		t.Errorf("Stop: %v", err)
	}
	if err := g.w.Close(0); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

func TestAFileLacksAtMostItsLastSecond(t *testing.T) {
	g := startedRig(t)
	g.StepBegin("a")
	eventually(g.ctx, t, func() bool { return g.w.Facts() == 1 })
	before := len(g.file.bytes())
	eventually(g.ctx, t, func() bool { return len(g.file.bytes()) > before })
}

func TestNumbersThatJSONLacksAreLeftOut(t *testing.T) {
	g := startedRig(t)
	g.emit(recording.Fact{Sample: &recording.Sample{Series: "x", Value: math.NaN()}},
		recording.Fact{Sample: &recording.Sample{Series: "x", Value: 1}})
	if got := g.close(); len(got) != 1 {
		t.Errorf("facts %+v", got)
	}
}

// slowDisk blocks until it is released.
type slowDisk struct {
	buffer
	release chan struct{}
	armed   atomic.Bool
}

func (d *slowDisk) Write(p []byte) (int, error) {
	if d.armed.Load() {
		<-d.release
	}
	return d.buffer.Write(p)
}

func TestAStalledDiskIsRecordedAsLateness(t *testing.T) {
	disk := &slowDisk{release: make(chan struct{})}
	g := newRig(t, func(c *Config) {
		w, err := recording.NewWriter(disk, recording.Header{Base: c.Base})
		if err != nil {
			t.Fatal(err)
		}
		c.Writer = w
	})
	disk.armed.Store(true)
	go g.w.Flush() // blocks, and with it every write
	time.AfterFunc(10*stallLimit, func() { close(disk.release) })
	for range 2*queueLength + 2 {
		g.StepBegin("a")
	}
	g.file = &disk.buffer
	late := g.close().of(func(f recording.Fact) bool { return f.Late != nil })
	if len(late) == 0 || late[0].Late.Sampler != "recorder" {
		t.Errorf("late: %+v", late)
	}
}

func TestStopDoesNotWaitForEver(t *testing.T) {
	hung := make(chan struct{})
	first := true
	g := startedRig(t, func(c *Config) {
		c.Samplers = []Sampler{{Name: "hung", Interval: time.Millisecond, Sample: func(context.Context) ([]recording.Sample, error) {
			if !first {
				<-hung
			}
			first = false
			return nil, nil
		}}}
	})
	defer close(hung)
	ctx, cancel := context.WithTimeout(g.ctx, 50*time.Millisecond)
	defer cancel()
	if err := g.Stop(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v", err)
	}
}
