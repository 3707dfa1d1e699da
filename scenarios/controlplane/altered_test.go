package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/controlplane"
	"reckon.dev/reckon/scenarios/istiodmasseviction"
	"reckon.dev/reckon/scenarios/istiodrestart"
)

// What real istiods did, once of each scenario at its defaults (mass-eviction with
// replacements after 10 s), on two cores.
const (
	eviction = "testdata/mass-eviction"
	scaleOut = "testdata/scale-out"
	restart  = "testdata/restart"
)

// And on real pods, behind kube-proxy.
const (
	evictionOfPods = "../../results/baselines/istiod-kind-istiod-mass-eviction-four-of-six-1"
	restartOfPods  = "../../results/baselines/istiod-kind-istiod-restart-the-chart-s-surge-1"
)

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, eviction, scaleOut, restart)
}

// without leaves a proxy's events out from the first that is chosen on, up to its end.
func without(tp *doctored.Tape, chosen func(c *recording.Connection) bool) {
	gone, replica := map[string]bool{}, map[string]string{}
	tp.Keep(func(_ int, f *recording.Fact) bool {
		c := f.Connection
		if c == nil {
			return true
		}
		if c.Event == recording.Left {
			c.Replica = replica[c.Proxy]
			return true
		}
		if gone[c.Proxy] = gone[c.Proxy] || chosen(c); gone[c.Proxy] {
			return false
		}
		replica[c.Proxy] = c.Replica
		if c.Event == recording.Closed || c.Event == recording.Rejected {
			replica[c.Proxy] = ""
		}
		return true
	})
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"istiod was not given an age": {scaleOut, func(tp *doctored.Tape) {
			without(tp, func(c *recording.Connection) bool { return c.Event == recording.GoAway })
		}, "lives"},
		"connections end at half their age": {scaleOut, func(tp *doctored.Tape) {
			for _, events := range tp.Connections() {
				var begun int64
				for _, i := range events {
					switch c := tp.Facts[i].Connection; {
					case c.Event == recording.Connected:
						begun = c.AtNS
					case c.Event == recording.Closed && c.Code != "":
						c.AtNS = begun + (c.AtNS-begun)/2
					case c.Event == recording.GoAway:
						c.AtNS = begun + (c.AtNS-begun)/2
					}
				}
			}
		}, "lives"},
		"all orphans choose one replica":                  {eviction, func(tp *doctored.Tape) { stick(tp, tp.StepBegin(istiodmasseviction.StepEvict)) }, "spread"},
		"all proxies stick to one replica from the begin": {scaleOut, func(tp *doctored.Tape) { stick(tp, 0) }, "steady-spread"},
		"nobody reconnects after the scale-out": {scaleOut, func(tp *doctored.Tape) {
			begin := tp.Facts[tp.StepBegin(controlplane.StepWatch)].T
			without(tp, func(c *recording.Connection) bool { return c.Event == recording.GoAway && c.AtNS > begin })
		}, "reconnects"},
		"orphans come back three seconds later": {eviction, func(tp *doctored.Tape) {
			lost := map[string]bool{}
			for i := range tp.Facts {
				switch c := tp.Facts[i].Connection; {
				case c == nil:
				case c.Event == recording.Closed:
					lost[c.Proxy] = c.Code != "" && c.AgeNS < int64(20*time.Second) || lost[c.Proxy]
				case c.Event == recording.Connected && lost[c.Proxy]:
					c.AtNS += int64(3 * time.Second)
					delete(lost, c.Proxy)
				}
			}
		}, "outage"},
		"twenty proxies never come back": {eviction, func(tp *doctored.Tape) {
			left := 20
			chosen := map[string]bool{}
			begin := tp.Facts[tp.StepBegin(controlplane.StepWatch)].T
			without(tp, func(c *recording.Connection) bool {
				if c.Event == recording.Connected && c.AtNS > begin && left > 0 && !chosen[c.Proxy] {
					left--
					chosen[c.Proxy] = true
				}
				return chosen[c.Proxy]
			})
		}, "all-back"},
		"kube-proxy says that it writes rules ten seconds later than it does": {restartOfPods, func(tp *doctored.Tape) {
			said(tp, func(f *recording.Fact, s kubeproxy.Saying) bool {
				if s.What != kubeproxy.Told {
					const layout = "0102 15:04:05.000000"
					f.Log.Line = "I" + tp.Header.Base.Add(s.At+10*time.Second).UTC().Format(layout) + f.Log.Line[1+len(layout):]
				}
				return true
			})
		}, "reconnects"},
		"pods are led to by kube-proxy while they are Ready, to the instant": {evictionOfPods, func(tp *doctored.Tape) { followReadiness(tp) }, "reconnects"},
	} {
		doctored.AlterBreaks(t, name, c.recording, c.alter, c.claim)
	}
}

// said keeps those lines of kube-proxy's log that are chosen.
func said(tp *doctored.Tape, chosen func(f *recording.Fact, s kubeproxy.Saying) bool) {
	tp.Keep(func(_ int, f *recording.Fact) bool {
		if f.Log == nil || f.Log.Component != kubeproxy.Component {
			return true
		}
		s, ok := kubeproxy.Parse(f.Log.Line, tp.Header.Base)
		return !ok || chosen(f, s)
	})
}

// followReadiness makes the pods' kube-proxy one of processes, which chooses among those
// that are Ready and no others.
func followReadiness(tp *doctored.Tape) {
	tp.Keep(func(_ int, f *recording.Fact) bool {
		return f.Object == nil || f.Object.Resource != series.EndpointSlices
	})
}

// stick leads every connection that begins after fact i to one and the same replica.
func stick(tp *doctored.Tape, i int) {
	to, current := "", map[string]string{}
	from := tp.Facts[i].T
	for _, f := range tp.Facts {
		if f.Replica != nil && f.Replica.Event == recording.ReplicaReady {
			to = f.Replica.Name
		}
		if i == 0 && to != "" {
			break
		}
	}
	for i := range tp.Facts {
		c := tp.Facts[i].Connection
		if c == nil {
			continue
		}
		if c.Event == recording.Connected && c.AtNS >= from {
			current[c.Proxy] = to
		}
		if name, ok := current[c.Proxy]; ok && c.Replica != "" {
			c.Replica = name
		}
	}
}

func TestWhatIsNotKnownIsInconclusive(t *testing.T) {
	t.Parallel()
	insert := func(f recording.Fact) func(tp *doctored.Tape) {
		return func(tp *doctored.Tape) {
			i := tp.StepBegin(controlplane.StepWatch)
			f.T = tp.Facts[i].T
			tp.Facts = append(tp.Facts[:i+1], append([]recording.Fact{f}, tp.Facts[i+1:]...)...)
		}
	}
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		want  string
		of    string
	}{
		"the proxies were starved": {insert(recording.Fact{Late: &recording.Late{Sampler: recording.FleetSampler, ByNS: int64(800 * time.Millisecond)}}), "starved for 800ms", scaleOut},
		"a proxy is connected twice": {func(tp *doctored.Tape) {
			for i, f := range tp.Facts[tp.StepBegin(controlplane.StepWatch):] {
				if f.Connection != nil && f.Connection.Event == recording.Closed {
					tp.Drop(i + tp.StepBegin(controlplane.StepWatch))
					return
				}
			}
		}, "it has a connection", scaleOut},
		"no replica was ever ready": {func(tp *doctored.Tape) {
			tp.Keep(func(_ int, f *recording.Fact) bool { return f.Replica == nil })
		}, "no replica of istiod was Ready", scaleOut},
		"kube-proxy said nothing": {func(tp *doctored.Tape) {
			said(tp, func(*recording.Fact, kubeproxy.Saying) bool { return false })
		}, "and kube-proxy of 0", restartOfPods},
		"kube-proxy was not told of a change": {func(tp *doctored.Tape) {
			begin := tp.Facts[tp.StepBegin(istiodrestart.StepRestart)].At()
			gone := false
			said(tp, func(_ *recording.Fact, s kubeproxy.Saying) bool {
				if s.What == kubeproxy.Told && !gone && s.At > begin {
					gone = true
					return false
				}
				return true
			})
		}, "the recorder was told of", restartOfPods},
		"there is no proxy": {func(tp *doctored.Tape) {
			tp.Keep(func(_ int, f *recording.Fact) bool { return f.Replica == nil && f.Connection == nil })
		}, "tells of no proxy", scaleOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tape := doctored.Load(t, c.of)
			c.alter(tape)
			v := tape.Verdict()
			if v.Outcome != judge.Undecided || !strings.Contains(strings.Join(v.Reasons, "\n"), c.want) {
				t.Errorf("%s: %q", v.Outcome, v.Reasons)
			}
		})
	}
}
