package mesh

import (
	"fmt"
	"time"
)

// An Opinion is what the model makes of something that was read in an incident.
type Opinion string

const (
	// Explained is a reading that the model predicts for these inputs.
	Explained Opinion = "explained"
	// Artefact is a reading that comes from how it was measured.
	Artefact Opinion = "artefact"
	// Mistaken is a conclusion that the source or the model contradicts.
	Mistaken Opinion = "mistaken"
	// Open is a reading that the inputs known do not decide.
	Open Opinion = "open"
)

// A Remark is one reading of the incident beside the model.
type Remark struct {
	What    string // was read or concluded
	Seen    string
	Model   string // for the same inputs
	Opinion Opinion
	Why     string
	Rule    Rule
}

// An Incident is the one the drills are about: istiods with 862 connections of which 19
// of 24 went within 90 seconds, and scale-outs on two days with ages of 15 and of 30
// minutes. It was watched at 15 s resolution through gauges.
type Incident struct {
	Loss                      MassLoss // its Carriers are what the peak seen implies
	Peak                      float64  // CoV
	LastOrphan                time.Duration
	Short, Long               ScaleOut      // at 15 and 30 minutes
	ShortSteady, LongSteady   Fleet         // of which reconnects were counted
	Bucket                    time.Duration // in which movements were summed
	Interval                  time.Duration // of a gauge's increases
	PushTime, ConvergenceTime time.Duration // bounds of the first buckets
}

// SeenIncident has the numbers that were read.
func SeenIncident() Incident {
	short := Lifetime{15 * time.Minute, WaitsForCut}
	long := Lifetime{30 * time.Minute, WaitsForCut}
	const peak = 1.465
	return Incident{
		Loss:        MassLoss{Connections: 862, Replicas: 24, Lost: 19, Back: 19, Carriers: EffectiveReplicas(24, peak), Lifetime: short},
		Peak:        peak,
		LastOrphan:  150 * time.Second,
		Short:       ScaleOut{Connections: 1029, Joining: 1879, From: 24, To: 34, Lifetime: short},
		Long:        ScaleOut{Connections: 1029, Joining: 1879, From: 24, To: 34, Lifetime: long},
		ShortSteady: Fleet{2950, 34, short},
		LongSteady:  Fleet{2900, 34, long},
		Bucket:      15 * time.Minute,
		// What 15 s samples under a query's rate window come to.
		Interval:        35 * time.Second,
		PushTime:        10 * time.Millisecond,
		ConvergenceTime: 100 * time.Millisecond,
	}
}

// Remarks are the readings in the order in which they were reported.
func (i Incident) Remarks() []Remark {
	return append(i.lossRemarks(), append(i.scaleOutRemarks(), i.countRemarks()...)...)
}

func (i Incident) lossRemarks() []Remark {
	m := i.Loss
	bare := m
	bare.Carriers = 0
	dead, _ := m.DeadTime()
	over, _ := m.Over()
	half, _ := m.Lifetime.HalfLife()
	atOnce, oneByOne := m.Moves()
	steady := m.Fleet().ReconnectRate() * i.Bucket.Seconds()
	return []Remark{
		{"highest CoV after the loss", percent(i.Peak),
			fmt.Sprintf("%s if all orphans chose among %d survivors; the value seen is that of %.1f replicas", percent(bare.Peak()), m.Survivors(), m.Carriers),
			Explained, "The orphans land on whoever is Ready when they choose. Twelve replicas were Ready half a minute later, so the last orphans had more than the survivors to choose among.", RulePlateau},
		{"connections of the fullest replica", "138, later 156",
			fmt.Sprintf("%.0f if %.1f replicas carry the load evenly, %.0f if the survivors alone do", float64(m.Connections)/m.Carriers, m.Carriers, float64(m.Connections)/float64(m.Survivors())),
			Explained, "The survivors have more than the replicas that became Ready while orphans were still choosing.", RulePlateau},
		{"the CoV stood there", "about 15 min",
			fmt.Sprintf("%s after the orphans reconnected, who did until %s after the loss", minutes(dead), minutes(i.LastOrphan)),
			Explained, "Reconnected orphans are all young: none ends before the shortest life, and only the few connections that had stayed move before.", RuleDeadTime},
		{"even again after the loss", "19.2 min",
			fmt.Sprintf("%s = %s, the longest life, and %s until the last orphan", minutes(over+i.LastOrphan), minutes(over), minutes(i.LastOrphan)),
			Explained, "Everything that stood moves within a fifth of the age, and the last connection is that of the last orphan.", RuleHardEnd},
		{"when the CoV jumped", "when the replicas left",
			fmt.Sprintf("%s among the survivors, %s once their replacements are Ready", percent(Fleet{m.Connections, m.Survivors(), m.Lifetime}.Floor()), percent(m.Peak())),
			Mistaken, "The survivors are even. What is uneven are the replacements, empty when they become Ready.", RulePlateau},
		{"the jitter of a tenth", "only widens the window of reconnects",
			fmt.Sprintf("waves of %.1f a second (%.2f in equilibrium) each %s, half as high after %.1f h", m.WaveRate(), m.Fleet().ReconnectRate(), minutes(m.Lifetime.Mean()), half.Hours()),
			Mistaken, "Connections made at once end together again for many generations.", RuleEcho},
		{"all movements against the steady rate, in the quarter of an hour of the loss", "2.6 times",
			fmt.Sprintf("%.1f times if all left at once, %.1f if one after another", 1+atOnce/steady, 1+oneByOne/steady),
			Open, "An orphan whose new replica leaves too moves again, which explains it; but a sum of gauge increases also counts an orphan twice, when it is lost and when it lands.", RuleGauge},
	}
}

func (i Incident) scaleOutRemarks() []Remark {
	s, l := i.Short, i.Long
	shortEnd, _ := s.HardEnd()
	longEnd, _ := l.HardEnd()
	floor := s.Fleet()
	return []Remark{
		{"CoV when the scale-out began", "25.9 %", percent(s.CoV(0)) + " without a single reconnect",
			Explained, "New connections choose among all replicas: they dilute what sits on the old ones.", RuleGrowth},
		{"CoV when the scale-out ended", "9.8 %", fmt.Sprintf("%s, ± %s for one reading", percent(floor.Floor()), percent(floor.FloorSpread())),
			Explained, "That is the floor of uniform choice. No age makes it lower.", RuleFloor},
		{"duration at an age of 15 minutes", "17.5 min", minutes(shortEnd) + " after the last replica at the latest",
			Explained, "5 % over the bound of a step: the replicas came one after another.", RuleHardEnd},
		{"duration at an age of 30 minutes", "36.5 min", minutes(longEnd) + " after the last replica at the latest",
			Explained, fmt.Sprintf("10 %% over the bound. The ratio is 2.09 against %.2f: the grace does not scale with the age.", longEnd.Seconds()/shortEnd.Seconds()), RuleHardEnd},
	}
}

func (i Incident) countRemarks() []Remark {
	short, long := i.ShortSteady, i.LongSteady
	seen := func(f Fleet) float64 { return GaugeIncreases(f.ReconnectRate(), f.Replicas, i.Interval) }
	return []Remark{
		{"reconnects a second at 30 and at 15 minutes", "0.7 and 1.0, 1.5 times",
			fmt.Sprintf("%.2f and %.2f, %.2f times; as a sum of gauge increases %.2f and %.2f, %.1f times", long.ReconnectRate(), short.ReconnectRate(), short.ReconnectRate()/long.ReconnectRate(), seen(long), seen(short), seen(short)/seen(long)),
			Artefact, "Arrivals and departures of one interval cancel in a gauge. What is left grows with the root of the rate. Count the clients' events, or the rate of CDS pushes.", RuleGauge},
		{"push time, 99th percentile", "0.0099 s, then 79 times that", fmt.Sprintf("%.4f s is what every value under the first bucket gives", 0.99*i.PushTime.Seconds()),
			Artefact, "Everything was within the first bucket. The factor has no meaning.", RuleBuckets},
		{"convergence time, 99th percentile", "0.099 s, then 9.5 times that", fmt.Sprintf("%.3f s is what every value under the first bucket gives", 0.99*i.ConvergenceTime.Seconds()),
			Artefact, "Everything was within the first bucket. The factor has no meaning.", RuleBuckets},
		{"pilot_xds_pushes", "counts errors", "counts every response, by type",
			Mistaken, "Its help text speaks of errors; those are the types that end in _senderr.", RulePushes},
		{"pilot_xds_write_timeout and pilot_total_xds_rejects", "do not exist", "exist",
			Mistaken, "A counter is exported after its first record: none was needed. A scrape cannot show that a name does not exist.", RuleFirstRecord},
	}
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }
