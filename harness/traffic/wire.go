// Package traffic is the record that a client keeps of what it does: a client of
// the workload under test of its requests, a fleet of proxies of its connections
// to istiod. It has the lines that a client writes while it runs, and the Tap that
// turns them into facts of a recording. The package is pure; the clients are in
// load and xdsfleet, the server in echo, the program with all of them in
// reckon-traffic.
package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"reckon.dev/reckon/harness/recording"
)

// Line is one line of JSON that a client writes to its standard output. Exactly
// one of the pointers is set. All instants are nanoseconds since the Unix epoch.
type Line struct {
	// N numbers the lines from 0, without a hole.
	N       int64    `json:"n"`
	Hello   *Hello   `json:"hello,omitempty"`
	Bin     *Bin     `json:"bin,omitempty"`
	Weights *Weights `json:"weights,omitempty"`
	Stream  *Stream  `json:"stream,omitempty"`
	// Connections are a fleet's, as bins are those of a client that sends requests.
	Connections *Connections `json:"connections,omitempty"`
	End         *End         `json:"end,omitempty"`
}

// Hello is said once, when the client has its routes and connections and its
// schedule begins. Lines about the stream and the weights may precede it.
type Hello struct {
	// Client names it: "grpc" or "http".
	Client string `json:"client"`
	PID    int    `json:"pid"`
	// StartNS is when request 0 is due, or the first proxy begins; the first bin or
	// interval begins with it.
	StartNS  int64    `json:"startNS"`
	Settings Settings `json:"settings,omitzero"`
	// Fleet is set if the client is a fleet of proxies, which send no requests.
	Fleet FleetSettings `json:"fleet,omitzero"`
}

// Settings is what the client was told to do.
type Settings struct {
	// Transport is "grpc" or "http".
	Transport string `json:"transport"`
	// Target is a host and port, or a URL.
	Target string `json:"target"`
	// Rate is in requests per second.
	Rate float64 `json:"rate"`
	// TimeoutNS is how long a request waits for its answer once it was sent.
	TimeoutNS int64 `json:"timeoutNS"`
	// BinNS is the width of a bin.
	BinNS int64 `json:"binNS"`
	// MaxInFlight bounds the requests that wait for an answer.
	MaxInFlight int `json:"maxInFlight"`
	// KeepAlive: HTTP connections serve more than one request.
	KeepAlive bool `json:"keepAlive,omitempty"`
}

// Bin counts the requests that were due in [FromNS, ToNS). It is written when
// all of them have ended, and after the bin before it. Its fields mean what
// those of recording.Traffic mean.
type Bin struct {
	Seq      int64               `json:"seq"`
	FromNS   int64               `json:"fromNS"`
	ToNS     int64               `json:"toNS"`
	Due      int64               `json:"due"`
	Answers  []recording.Answer  `json:"answers,omitempty"`
	Failures []recording.Failure `json:"failures,omitempty"`
	LateNS   int64               `json:"lateNS,omitempty"`
	Latency  []recording.Bucket  `json:"latency,omitempty"`
}

// Counts returns the requests that were answered and that failed.
func (b Bin) Counts() (answered, failed int64) {
	for _, a := range b.Answers {
		answered += a.N
	}
	for _, f := range b.Failures {
		failed += f.N
	}
	return answered, failed
}

// Weights are those of a route as istiod delivered them, in percent by target.
// They are written when they change; a target that left the route has weight 0.
type Weights struct {
	AtNS    int64              `json:"atNS"`
	Route   string             `json:"route"`
	Percent map[string]float64 `json:"percent"`
}

// Stream says that the stream from istiod came or went.
type Stream struct {
	AtNS int64 `json:"atNS"`
	// Up: the stream's first answer is there. Otherwise it has ended.
	Up bool `json:"up"`
	// Same: that answer held the weights of the stream before.
	Same bool `json:"same,omitempty"`
	// Planned: it ended because the connection had the age at which istiod closes it.
	Planned bool `json:"planned,omitempty"`
	// Reason is why it ended.
	Reason string `json:"reason,omitempty"`
}

// End is the last line: all requests that were ever due, or all that became of a
// fleet's connections.
type End struct {
	AtNS     int64       `json:"atNS"`
	Bins     int64       `json:"bins"`
	Due      int64       `json:"due"`
	Answered int64       `json:"answered"`
	Failed   int64       `json:"failed"`
	Fleet    FleetTotals `json:"fleet,omitzero"`
}

// Encoder numbers and writes lines. It is for one goroutine.
type Encoder struct {
	w io.Writer
	n int64
}

// NewEncoder writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode gives the line its number and writes it, in one Write.
func (e *Encoder) Encode(l Line) error {
	l.N = e.n
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := e.w.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("writing line %d: %w", l.N, err)
	}
	e.n++
	return nil
}

// decode reads one line strictly: client and runner are of one version.
func decode(raw []byte) (Line, error) {
	var l Line
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return Line{}, err
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(raw, " \r"))) {
		return Line{}, fmt.Errorf("more than one value")
	}
	set := 0
	for _, is := range []bool{l.Hello != nil, l.Bin != nil, l.Weights != nil, l.Stream != nil, l.Connections != nil, l.End != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return Line{}, fmt.Errorf("%d messages, want one", set)
	}
	return l, nil
}
