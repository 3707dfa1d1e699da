package kubeproxy

import (
	"strings"
	"time"
)

// Verbosity of kube-proxy's log that has all that Parse reads.
const Verbosity = 4

// Saying is something that kube-proxy said in its log.
type Saying struct {
	At   time.Duration
	What Word
	// Took is how long the round was that is Done.
	Took time.Duration
}

// Word is what kube-proxy says of its work.
type Word string

const (
	// Told: an EndpointSlice of some Service changed.
	Told Word = "told"
	// Writes: it hands the rules to the kernel.
	Writes Word = "writes"
	// Fails: it could not, and will try again.
	Fails Word = "fails"
	// Done: it has ended, in whatever way.
	Done Word = "done"
)

// words are the lines' messages, with the verbosity that they need
// (pkg/proxy/config/config.go:125, 142 and 161, and pkg/proxy/iptables/proxier.go:1373,
// 660 and 649, v1.37.2).
var words = map[string]Word{
	"Calling handler.OnEndpointSliceAdd":    Told,   // 4
	"Calling handler.OnEndpointSliceUpdate": Told,   // 4
	"Calling handler.OnEndpointsDelete":     Told,   // 4
	"Reloading service iptables data":       Writes, // 2
	"Sync failed":                           Fails,  // 0
	"SyncProxyRules complete":               Done,   // 2
}

// Parse reads a line of kube-proxy's log on a node whose clock is UTC, as of a base that
// is less than half a year away. It is not ok of a line that says nothing of the rules of
// IPv4.
func Parse(line string, base time.Time) (said Saying, ok bool) {
	head, text, found := strings.Cut(line, `] "`)
	if !found || strings.Contains(text, `ipFamily="IPv6"`) {
		return Saying{}, false
	}
	message, rest, _ := strings.Cut(text, `"`)
	if said.What, ok = words[message]; !ok {
		return Saying{}, false
	}
	const layout = "0102 15:04:05.000000" // klog's header, after the letter of the severity
	if len(head) < 1+len(layout) {
		return Saying{}, false
	}
	at, err := time.Parse(layout, head[1:1+len(layout)])
	if err != nil {
		return Saying{}, false
	}
	at = at.AddDate(base.UTC().Year(), 0, 0)
	switch half := 183 * 24 * time.Hour; {
	case at.Sub(base) > half:
		at = at.AddDate(-1, 0, 0)
	case base.Sub(at) > half:
		at = at.AddDate(1, 0, 0)
	}
	said.At = at.Sub(base)
	if said.What == Done {
		_, took, _ := strings.Cut(rest, `elapsed="`)
		took, _, _ = strings.Cut(took, `"`)
		said.Took, err = time.ParseDuration(took)
	}
	return said, err == nil
}
