package load

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"reckon.dev/reckon/harness/traffic"
)

// Transports.
const (
	GRPC = "grpc" // proxyless, routed by istiod
	HTTP = "http" // through the address of a Service
)

// Config says what is sent to whom. Flags sets it from a command line.
type Config struct {
	// Client is the name in the recording; empty: the transport.
	Client    string
	Transport string
	// Target is host:port of a Service for gRPC, a URL for HTTP.
	Target string
	// Rate is in requests per second.
	Rate float64
	// Duration is how long requests are sent; 0: until the context ends.
	Duration time.Duration
	// Timeout is how long a request waits for its answer once it was sent.
	Timeout time.Duration
	// MaxInFlight bounds the requests that wait for an answer.
	MaxInFlight int
	// Bin is the width of a bin.
	Bin time.Duration
	// KeepAlive lets an HTTP connection serve more than one request.
	KeepAlive bool

	// Istiod is host:port of plaintext xDS.
	Istiod string
	// Namespace, Pod and IP are what the client tells istiod that it is.
	Namespace, Pod, IP string
}

// Parse reads the command line. Errors and usage go to usage; the error is
// flag.ErrHelp if help was asked for.
func Parse(args []string, getenv func(string) string, usage io.Writer) (Config, error) {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(usage)
	var c Config
	f.StringVar(&c.Client, "client", "", "name in the recording (default: the transport)")
	f.StringVar(&c.Transport, "transport", GRPC, "grpc: proxyless, routed by istiod; http: through a Service")
	f.StringVar(&c.Target, "target", "", "grpc: HOST:PORT of a Service, e.g. app.demo.svc.cluster.local:8080; http: URL")
	f.Float64Var(&c.Rate, "rate", 50, "requests per second")
	f.DurationVar(&c.Duration, "duration", 0, "how long requests are sent; 0: until SIGTERM")
	f.DurationVar(&c.Timeout, "timeout", time.Second, "how long a request waits for its answer")
	f.IntVar(&c.MaxInFlight, "max-in-flight", 1000, "requests that may wait at once; more fail here, as client-limit")
	f.DurationVar(&c.Bin, "bin", 100*time.Millisecond, "interval that one line counts")
	f.BoolVar(&c.KeepAlive, "keep-alive", false, "http: one connection serves many requests (default: one each)")
	f.StringVar(&c.Istiod, "istiod", getenv("ISTIOD"), "grpc: HOST:PORT of plaintext xDS (env ISTIOD)")
	f.StringVar(&c.Namespace, "namespace", getenv("POD_NAMESPACE"), "grpc: namespace of this client (env POD_NAMESPACE)")
	f.StringVar(&c.Pod, "pod", getenv("POD_NAME"), "grpc: name of this client's pod (env POD_NAME)")
	f.StringVar(&c.IP, "ip", getenv("POD_IP"), "grpc: address of this client's pod (env POD_IP)")
	if err := f.Parse(args); err != nil {
		return Config{}, err
	}
	if f.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if c.Client == "" {
		c.Client = c.Transport
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
	need(c.Rate > 0 && c.Rate <= 100_000, "-rate is %v, want up to 100000 per second", c.Rate)
	need(c.Duration >= 0, "-duration is %v", c.Duration)
	need(c.Timeout > 0, "-timeout is %v, want more than 0", c.Timeout)
	need(c.MaxInFlight > 0 && c.MaxInFlight <= math.MaxInt32, "-max-in-flight is %d, want at least 1", c.MaxInFlight)
	need(c.Bin >= time.Millisecond, "-bin is %v, want at least 1ms", c.Bin)
	switch c.Transport {
	case GRPC:
		need(hostPort(c.Target), "-target is %q, want HOST:PORT", c.Target)
		need(hostPort(c.Istiod), "-istiod is %q, want HOST:PORT", c.Istiod)
		need(c.Namespace != "", "-namespace is not set")
		need(c.Pod != "", "-pod is not set")
		_, err := netip.ParseAddr(c.IP)
		need(err == nil, "-ip is %q, want an address", c.IP)
	case HTTP:
		u, err := url.Parse(c.Target)
		need(err == nil && u.Scheme == "http" && u.Host != "", "-target is %q, want a URL such as http://app.demo.svc:80/", c.Target)
	default:
		need(false, "-transport is %q, want grpc or http", c.Transport)
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

func hostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && port != ""
}

// settings is what the record says of them.
func (c Config) settings() traffic.Settings {
	return traffic.Settings{
		Transport: c.Transport, Target: c.Target, Rate: c.Rate, TimeoutNS: c.Timeout.Nanoseconds(), BinNS: c.Bin.Nanoseconds(),
		MaxInFlight: c.MaxInFlight, KeepAlive: c.KeepAlive,
	}
}
