package load

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reckon.dev/reckon/harness/recording"
)

// maxText bounds an error's text, in bytes: some of grpc's hold whole addresses
// and nested reasons several times.
const maxText = 400

// rpcFailure says why an RPC failed. told is the cause that the server stated in
// the trailer, version that of its template; both may be empty.
func rpcFailure(err error, told, version string) recording.Failure {
	text := status.Convert(err).Message()
	f := recording.Failure{Cause: recording.Cause(told), Version: version, Target: targetIn(text), Text: cut(text)}
	switch code := status.Code(err); {
	case f.Cause != "":
	case code == codes.DeadlineExceeded:
		f.Cause = recording.TimedOut
	case code == codes.ResourceExhausted && strings.Contains(text, "overloaded"):
		f.Cause = recording.Overloaded
	default:
		f.Cause = causeOf(text)
	}
	return f
}

// httpFailure says why an HTTP request got no response.
func httpFailure(err error) recording.Failure {
	f := recording.Failure{Text: cut(err.Error())}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		f.Cause = recording.TimedOut
		return f
	}
	f.Cause = causeOf(err.Error())
	return f
}

// causeOf reads an error's text, since neither grpc nor net/http has types for
// these. The texts are those of grpc v1.85.0 and of Linux; the order matters,
// since one text may hold another's.
func causeOf(text string) recording.Cause {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	// internal/xds/balancer/clustermanager/picker.go:50
	case has("unknown cluster selected for RPC"):
		return recording.ClientRace
	// weightedaggregator/aggregator.go:259, endpointsharding.go:292, priority/balancer_priority.go:31
	case has("no targets to pick from", "no children to pick from", "all priorities are removed", "produced zero addresses"):
		return recording.NoEndpoint
	// internal/xds/xdsclient/requests_counter.go: the circuit breaker of a cluster
	case has("exceeded on service", "cannot assign requested address", "too many open files"):
		return recording.ClientLimit
	// xdsclient/authority.go:505, resolver/serviceconfig.go:168; a name that DNS does not know
	case has("has been removed", "no matched route was found", "does not have a supported route action", "no such host"):
		return recording.NoRoute
	// A pod that is gone leaves no host, or one that does not answer a dial.
	case has("connection refused", "no route to host", "network is unreachable", "i/o timeout"):
		return recording.Refused
	case has("EOF", "connection reset by peer", "broken pipe", "goaway", "transport is closing", "closing transport",
		"connection is draining", "error reading from server", "error reading server preface", "RST_STREAM", "server closed idle connection", "use of closed network connection"):
		return recording.Reset
	}
	return recording.Other
}

// targetIn finds the target of a cluster that a text names.
func targetIn(text string) string { return target(clusterName.FindString(text)) }

// clusterName matches istiod's names of clusters: direction, port, subset, host.
var clusterName = regexp.MustCompile(`outbound\|\d*\|[^|"\s]*\|[^|"\\\s:,]+`)

// target is what a cluster is called in a recording: the subset, or the host's
// first label where there is none. It is empty for names of another form.
func target(cluster string) string {
	parts := strings.Split(cluster, "|")
	if len(parts) != 4 {
		return ""
	}
	if parts[2] != "" {
		return parts[2]
	}
	label, _, _ := strings.Cut(parts[3], ".")
	return label
}

func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return text
}
