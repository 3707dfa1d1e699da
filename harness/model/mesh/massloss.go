package mesh

import (
	"fmt"
	"time"
)

// A MassLoss is replicas that leave a fleet in equilibrium at 0, and replacements that
// become Ready some time later. The orphans reconnect within seconds, before that, to
// the survivors; then they are all young, and nothing moves until the first of them ages.
type MassLoss struct {
	Connections int
	Replicas    int // Ready before
	Lost        int
	Back        int           // replacements
	ReadyAfter  time.Duration // until the replacements are Ready
	// Carriers is how many replicas the orphans chose among: 0 is the survivors, and more
	// than those if some replacements were Ready in time.
	Carriers float64
	Lifetime Lifetime
}

// Validate refuses what is no loss, and a loss that leaves nobody.
func (m MassLoss) Validate() error {
	switch {
	case m.Connections < 0 || m.Back < 0 || m.ReadyAfter < 0 || m.Carriers < 0:
		return fmt.Errorf("%d connections, %d replacements after %v, %g carriers: all must be 0 or more", m.Connections, m.Back, m.ReadyAfter, m.Carriers)
	case m.Lost < 0 || m.Lost > m.Replicas:
		return fmt.Errorf("%d of %d replicas lost: there are not so many", m.Lost, m.Replicas)
	case m.Survivors()+m.Back == 0:
		return fmt.Errorf("%d of %d replicas lost and none back: nobody is left to connect to", m.Lost, m.Replicas)
	case m.Carriers > float64(m.Survivors()+m.Back):
		return fmt.Errorf("%g carriers of %d replicas: there are not so many", m.Carriers, m.Survivors()+m.Back)
	}
	return m.Lifetime.Validate()
}

// Survivors is how many replicas stay.
func (m MassLoss) Survivors() int { return max(0, m.Replicas-m.Lost) }

// Fleet is what there is once the replacements are Ready.
func (m MassLoss) Fleet() Fleet {
	return Fleet{m.Connections, m.Survivors() + m.Back, m.Lifetime}
}

// Kept is the share of the connections that stay where they are.
func (m MassLoss) Kept() float64 {
	if m.Replicas <= 0 {
		return 0
	}
	return float64(m.Survivors()) / float64(m.Replicas)
}

// Orphans is how many connections are expected to lose their replica.
func (m MassLoss) Orphans() float64 { return (1 - m.Kept()) * float64(m.Connections) }

// Moves is how many reconnects the loss itself makes: if all replicas leave at once, every
// orphan's; if one after another, each once the orphans of the one before have landed,
// those of orphans that lose their new replica too.
func (m MassLoss) Moves() (atOnce, oneByOne float64) {
	for left := m.Survivors() + 1; left <= m.Replicas; left++ {
		oneByOne += float64(m.Connections) / float64(left)
	}
	return m.Orphans(), oneByOne
}

// carriers are the replicas the orphans land on. With no survivor those are the
// replacements: taken to be Ready together, and so even at once.
func (m MassLoss) carriers() float64 {
	switch {
	case m.Carriers > 0:
		return m.Carriers
	case m.Survivors() > 0:
		return float64(m.Survivors())
	}
	return float64(m.Back)
}

// Peak is the CoV when the replacements become Ready, empty, but for the floor.
func (m MassLoss) Peak() float64 { return concentration(m.Fleet().Replicas, m.carriers()) }

// Plateau is the CoV from then until the end of the dead time, but for the floor: it
// falls only by the connections that had stayed.
func (m MassLoss) Plateau(t time.Duration) float64 {
	return (1 - m.Kept() + m.Kept()*m.stayed(t)) * m.Peak()
}

// stayed is the share of the survivors' connections that have not ended since the
// replacements became Ready. Ends before that moved nothing to them.
func (m MassLoss) stayed(t time.Duration) float64 {
	return m.Lifetime.Unmoved(t - m.ReadyAfter)
}

// Unmoved is the share of the connections that have not chosen among all replicas, if the
// orphans reconnected at 0.
func (m MassLoss) Unmoved(t time.Duration) float64 {
	return (1-m.Kept())*m.Lifetime.Alive(t) + m.Kept()*m.stayed(t)
}

// CoV is that at t, over the replicas Ready then: survivors only before ReadyAfter, which
// looks even. With nobody Ready it is 0 and means nothing.
func (m MassLoss) CoV(t time.Duration) float64 {
	if t < m.ReadyAfter {
		return Fleet{m.Connections, m.Survivors(), m.Lifetime}.Floor()
	}
	return excess(m.Unmoved(t), m.carriers(), m.Fleet())
}

// DeadTime is how long after an orphan reconnected it stays for sure. An endless life
// has no end of it.
func (m MassLoss) DeadTime() (time.Duration, bool) {
	return m.Lifetime.Shortest(), !m.Lifetime.Endless()
}

// Over is how long after the last orphan reconnected every connection has chosen anew.
func (m MassLoss) Over() (time.Duration, bool) {
	return m.Lifetime.Longest(), !m.Lifetime.Endless()
}

// DeadRate is how many reconnects a second there are in the dead time: those of the
// survivors' connections.
func (m MassLoss) DeadRate() float64 { return m.Kept() * m.Fleet().ReconnectRate() }

// WaveRate is how many orphans a second reconnect in the first wave, the echo, beside
// DeadRate. Lifetime.Wave says when, Lifetime.Harmonic how slowly later ones fade. 0 of
// an endless life.
func (m MassLoss) WaveRate() float64 {
	if m.Lifetime.Endless() {
		return 0
	}
	return m.Orphans() / (2 * jitter * m.Lifetime.Age.Seconds())
}

// Plan is the loss for the simulator: the first replicas leave, all replacements become
// Ready together; read each second as a ScaleOut's. Give it the request limit in force,
// and for Events the times at which the replacements were really seen Ready.
func (m MassLoss) Plan(how Departure) Plan {
	return Plan{
		Connections: m.Connections, Replicas: m.Replicas, Lifetime: m.Lifetime, Start: Equilibrium, Gap: EnvoyGap,
		Events:   append(Leave(0, how, First(m.Lost)...), Ready(Spaced(m.Back, m.ReadyAfter, m.ReadyAfter)...)...),
		Readings: Every(time.Second, m.ReadyAfter+horizon(m.Lifetime)),
	}
}

// Admission is how long the orphans need to be admitted by the survivors under a limit of
// new streams per second and replica, back-off aside. It is 0 without a limit (0), and
// not ok with a limit and nobody to ask.
func (m MassLoss) Admission(limit float64) (d time.Duration, ok bool) {
	rate, limited := Admission(m.Survivors(), limit)
	switch {
	case !limited || m.Orphans() == 0:
		return 0, true
	case rate == 0:
		return 0, false
	}
	return duration(m.Orphans() / rate), true
}
