package series

import "time"

// Names of the series that FleetDefinitions defines.
const (
	// ProxiesName is how many proxies there are, ConnectedName how many of them have a
	// connection, and WithoutName how many have no control plane.
	ProxiesName   = "proxies"
	ConnectedName = "proxies.connected"
	WithoutName   = "proxies.without"
	// ReadyName is how many replicas of istiod are Ready.
	ReadyName = "istiod.ready"
	// UnplacedName is how many connections are open to no Ready replica.
	UnplacedName = "connections.unplaced"
	// CoVName is how uneven the connections are over the Ready replicas, in percent of
	// their mean, MaxMeanName the most of one of them by the mean.
	CoVName     = "connections.cov"
	MaxMeanName = "connections.max-mean"
	// ConnectRateName, RejectRateName and GoAwayRateName count in a sliding window of
	// a second, ConnectsName in each whole second.
	ConnectRateName = "connects.rate"
	ConnectsName    = "connects"
	RejectRateName  = "rejects.rate"
	GoAwayRateName  = "goaways.rate"
	// RejectsName counts from the first event on.
	RejectsName = "rejects"
)

// ConnectionsToName is how many connections are open to a replica. The series is
// there for each replica that a recording tells of, without a definition.
func ConnectionsToName(replica string) string { return "connections.to." + replica }

// FleetDefinitions are the series of proxies and replicas that claims and charts
// usually read.
func FleetDefinitions() []Definition {
	count := func(of func(*FleetState) int) FleetValue {
		return func(s *FleetState) (float64, bool) { return float64(of(s)), true }
	}
	def := func(name, unit, doc string, from FromFleet) Definition {
		return Definition{Name: name, Unit: unit, Doc: doc, Fleet: &from}
	}
	now := func(name, unit, doc string, of func(*FleetState) int) Definition {
		return def(name, unit, doc, FromFleet{Value: count(of)})
	}
	rate := func(name, doc string, of func(*FleetState) int) Definition {
		return def(name, "1/s", doc+" within the last second", FromFleet{Value: count(of), Over: time.Second})
	}
	connects := func(s *FleetState) int { return s.Last.Connects }
	rejects := func(s *FleetState) int { return s.Last.Rejects }
	return []Definition{
		now(ProxiesName, "proxies", "proxies that there are", func(s *FleetState) int { return s.Proxies }),
		now(ConnectedName, "proxies", "proxies with a connection to istiod", func(s *FleetState) int { return s.Open }),
		now(WithoutName, "proxies", "proxies without a control plane", (*FleetState).Without),
		now(ReadyName, "replicas", "replicas of istiod that are Ready", (*FleetState).Ready),
		now(UnplacedName, "connections", "connections to no Ready replica", (*FleetState).Unplaced),
		def(CoVName, "%", "coefficient of variation of the connections of the Ready replicas", FromFleet{Value: (*FleetState).CoV}),
		def(MaxMeanName, "", "most connections of a Ready replica by their mean", FromFleet{Value: (*FleetState).MaxMean}),
		rate(ConnectRateName, "connections made", connects),
		def(ConnectsName, "1/s", "connections made in each second", FromFleet{Value: count(connects), Every: time.Second}),
		rate(RejectRateName, "attempts to connect in vain", rejects),
		now(RejectsName, "attempts", "attempts to connect in vain so far", rejects),
		rate(GoAwayRateName, "requests to leave", func(s *FleetState) int { return s.Last.GoAways }),
	}
}
