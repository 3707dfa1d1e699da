package xdsfleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// order is one line of a fleet's input.
type order struct {
	// Ready are the replicas that new connections may choose, as NAME=HOST:PORT.
	Ready *[]string `json:"ready"`
	// Grow is how many more proxies begin, evenly over a time.
	Grow int    `json:"grow"`
	Over string `json:"over"`
}

// command is an order that makes sense.
type command struct {
	ready    []replica
	setReady bool
	grow     int
	over     time.Duration
}

// replica is one that new connections may choose.
type replica struct{ name, addr string }

// parseOrder reads one line strictly: the fleet and who runs it are of one version.
func parseOrder(raw []byte) (command, error) {
	var o order
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return command{}, err
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(raw, " \r"))) {
		return command{}, fmt.Errorf("more than one value")
	}
	if o.Ready != nil {
		if o.Grow != 0 || o.Over != "" {
			return command{}, fmt.Errorf("ready and grow at once")
		}
		ready, err := parseReady(*o.Ready)
		return command{ready: ready, setReady: true}, err
	}
	if o.Grow < 1 || o.Grow > mostProxies {
		return command{}, fmt.Errorf("neither ready nor grow by 1 to %d", mostProxies)
	}
	c := command{grow: o.Grow}
	if o.Over != "" {
		var err error
		if c.over, err = time.ParseDuration(o.Over); err != nil {
			return command{}, err
		}
	}
	if c.over < 0 {
		return command{}, fmt.Errorf("grow over %v", c.over)
	}
	return c, nil
}

func parseReady(list []string) ([]replica, error) {
	out := make([]replica, 0, len(list))
	names := map[string]bool{}
	for _, text := range list {
		name, addr, ok := strings.Cut(text, "=")
		host, port, err := net.SplitHostPort(addr)
		if !ok || name == "" || err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%q is ready, want NAME=HOST:PORT", text)
		}
		if names[name] {
			return nil, fmt.Errorf("%q is ready twice", name)
		}
		names[name] = true
		out = append(out, replica{name, addr})
	}
	return out, nil
}

// readOrders hands commands on until the input ends, which is no error, or one is
// wrong. take returns false if none is wanted any more.
func readOrders(from io.Reader, take func(command) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		c, err := parseOrder(lines.Bytes())
		if err != nil {
			return fmt.Errorf("standard input has %.120q: %w", lines.Text(), err)
		}
		if !take(c) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading standard input: %w", err)
	}
	return nil
}
