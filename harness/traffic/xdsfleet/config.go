// Package xdsfleet is thousands of proxies in one process, as sidecars are to
// istiod: each has a stream of delta ADS on a TCP connection of its own, subscribes
// in the order of an Envoy, acknowledges what it gets, and when its stream ends
// makes a new connection to a replica chosen anew. Of what it is sent it keeps the
// names and versions alone. What becomes of each connection is written as a record
// (package traffic).
//
// It is run as
//
//	reckon-traffic fleet -proxies 862 -age 60s -grace 11s [flags]
//
// and ends with SIGTERM. Parse has the flags. Without -istiod each connection goes
// to one of the replicas that are Ready, every one as likely as the others, which
// is how kube-proxy chooses. The fleet begins when it is first told of any, in
// lines of JSON on its standard input, and they may change at any time:
//
//	{"ready":["istiod-0=127.0.0.1:15010","istiod-1=127.0.0.1:15020"]}
//
// More proxies join, evenly over a time, with connections that are new and last as
// long as istiod lets them, by
//
//	{"grow":100,"over":"30s"}
//
// Its input may end at any time; a line that is neither ends the fleet with an
// error. With -istiod, which is the address of a Service, a connection's replica is
// known only from its answers. istiod puts its name (POD_NAME) into no answer about
// configuration, but into those to the type istio.io/debug/syncz
// (pilot/pkg/xds/xdsgen.go:63, istio 1.31), which it gives to a client without a
// certificate only with ENABLE_DEBUG_ENDPOINT_AUTH=false (statusgen.go:77). With
// -identify the first request of each stream is for that; istiod lists no proxy of
// a fleet in it, so that the answer is empty.
//
// Standard output has lines of JSON (traffic.Line): one hello, when the first proxy
// begins; connections, at least once a second, whenever something happened in
// 100 ms; and one end. A proxy's events are begun, then connected, goaway where the
// server asks it to leave, closed, and so on, or rejected for each attempt without
// an answer, and left when the fleet ends. Whoever reads them with a traffic.Tap asks
// Tap.Fleet how many have begun and how many are connected.
//
// Thousands of proxies that begin at once keep a small machine busy for seconds, in
// which they notice late what happens to them. The record says so where it was more
// than 50 ms, and -over avoids it.
package xdsfleet

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"reckon.dev/reckon/harness/traffic"
)

// Config says which proxies there are and how they behave. Parse sets it from a
// command line.
type Config struct {
	// Client is the name in the recording.
	Client string
	// Proxies is how many begin, First the number of the first.
	Proxies, First int
	// Istiod is host:port of plaintext xDS; empty: that of a replica that is Ready.
	Istiod string
	// Identify asks each replica for its name.
	Identify bool
	// Cohort is the version that the proxies say they have, by which istiod counts them.
	Cohort string
	// Namespace is that of the proxies.
	Namespace string
	// Over is how long it takes until all have begun.
	Over time.Duration
	// Together: the proxies end no connection. Otherwise each ends its first one after
	// the rest of a life that began before, so that the fleet is as after a long time.
	Together bool
	// Age and Grace are istiod's: the lives that the rests are drawn from last
	// 0.9 to 1.1 of the age, and the grace if proxies wait to be cut off.
	Age, Grace time.Duration
	// CloseOnGoAway: proxies leave when they are asked to, instead of waiting until
	// they are cut off as pilot-agent does.
	CloseOnGoAway bool
	// Seed is that of all randomness: rests of lives, choices of replicas, pauses.
	Seed uint64
}

// mostProxies bounds the numbers of proxies, which are parts of their addresses.
const mostProxies = 1 << 20

// Parse reads the command line. Errors and usage go to usage; the error is
// flag.ErrHelp if help was asked for.
func Parse(args []string, usage io.Writer) (Config, error) {
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.SetOutput(usage)
	var c Config
	f.StringVar(&c.Client, "client", "fleet", "name in the recording")
	f.IntVar(&c.Proxies, "proxies", 0, "how many proxies begin")
	f.IntVar(&c.First, "first", 0, "number of the first proxy: fleets of one recording must not share any")
	f.StringVar(&c.Istiod, "istiod", "", "HOST:PORT of plaintext xDS (default: of a replica that is ready, as told on standard input)")
	f.BoolVar(&c.Identify, "identify", false, "ask each replica for its name, which istiod tells only with ENABLE_DEBUG_ENDPOINT_AUTH=false")
	f.StringVar(&c.Cohort, "cohort", "fleet", "version that the proxies say they have: the label of pilot_xds")
	f.StringVar(&c.Namespace, "namespace", "mesh", "namespace that the proxies say they are in")
	f.DurationVar(&c.Over, "over", 0, "how long it takes until all have begun, evenly")
	f.BoolVar(&c.Together, "together", false, "connections that begin together end together (default: as after a long time)")
	f.DurationVar(&c.Age, "age", 0, "istiod's keepaliveMaxServerConnectionAge; needed without -together")
	f.DurationVar(&c.Grace, "grace", 11*time.Second, "how long after its age istiod cuts off a proxy that waits")
	f.BoolVar(&c.CloseOnGoAway, "close-on-goaway", false, "leave when asked to (default: wait to be cut off, as pilot-agent)")
	f.Uint64Var(&c.Seed, "seed", 1, "of all randomness")
	if err := f.Parse(args); err != nil {
		return Config{}, err
	}
	if f.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return c, c.check()
}

// check says all that is wrong, on one line.
func (c Config) check() error {
	var wrong []string
	need := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	need(c.Client != "", "-client is empty")
	need(c.Proxies > 0 && c.Proxies <= mostProxies, "-proxies is %d, want 1 to %d", c.Proxies, mostProxies)
	need(c.First >= 0 && c.First <= mostProxies-c.Proxies, "-first is %d, want 0 to %d", c.First, mostProxies-c.Proxies)
	if c.Istiod != "" {
		host, port, err := net.SplitHostPort(c.Istiod)
		need(err == nil && host != "" && port != "", "-istiod is %q, want HOST:PORT", c.Istiod)
	}
	need(c.Cohort != "", "-cohort is empty")
	need(c.Namespace != "" && !strings.ContainsAny(c.Namespace, "~."), "-namespace is %q, want a namespace", c.Namespace)
	need(c.Over >= 0, "-over is %v", c.Over)
	need(c.Age > 0 || c.Together && c.Age == 0, "-age is %v, want more than 0, or -together", c.Age)
	need(c.Grace >= 0, "-grace is %v", c.Grace)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// settings is what the record says of them.
func (c Config) settings() traffic.FleetSettings {
	return traffic.FleetSettings{
		Proxies: c.Proxies, Cohort: c.Cohort, Istiod: c.Istiod, OverNS: c.Over.Nanoseconds(), Together: c.Together,
		AgeNS: c.Age.Nanoseconds(), GraceNS: c.Grace.Nanoseconds(), CloseOnGoAway: c.CloseOnGoAway, Seed: c.Seed,
	}
}
