package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// Ports come from here as far as the kernel does not hand them out itself.
const (
	firstPort = 20000
	lastPort  = 29999
)

// reservation keeps one port for us.
//
// A port that was free a moment ago may be taken a moment later: two clusters
// that are made at the same instant would both find it free. So a port is first
// reserved by a name that only one process of the machine can have, then probed.
// The reservation is a file descriptor which the process that listens on the
// port inherits. It goes when the last holder dies, be it by SIGKILL: there is
// no stale reservation to clean up.
type reservation struct {
	port int
	file *os.File
}

func (r *reservation) release() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// reservePorts reserves n ports, or none.
func reservePorts(n int) ([]*reservation, error) {
	candidates, err := candidatePorts(ephemeralRange())
	if err != nil {
		return nil, err
	}
	// Not always the lowest: a client that still holds a connection to a cluster
	// that is gone should not meet the next one at the same port.
	rand.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	var got []*reservation
	for _, port := range candidates {
		if len(got) == n {
			return got, nil
		}
		r, err := reservePort(port)
		if errors.Is(err, errPortTaken) {
			continue
		}
		if err != nil {
			releaseAll(got)
			return nil, err
		}
		got = append(got, r)
	}
	releaseAll(got)
	return nil, fmt.Errorf("no %d free ports in %d-%d", n, firstPort, lastPort)
}

func releaseAll(rs []*reservation) {
	for _, r := range rs {
		r.release()
	}
}

var errPortTaken = errors.New("port taken")

func reservePort(port int) (*reservation, error) {
	file, err := reserveName(port)
	if err != nil {
		return nil, err
	}
	r := &reservation{port: port, file: file}
	// Others do not know our reservations: see whether the port is really free.
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		r.release()
		return nil, errPortTaken
	}
	return r, listener.Close()
}

// candidatePorts leaves out the ephemeral range: there any outgoing connection
// of the machine may take a port between the reservation and the listening.
func candidatePorts(low, high int) ([]int, error) {
	var out []int
	for port := firstPort; port <= lastPort; port++ {
		if port < low || port > high {
			out = append(out, port)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("all ports in %d-%d are ephemeral here (net.ipv4.ip_local_port_range is %d-%d): none can be reserved safely", firstPort, lastPort, low, high)
	}
	return out, nil
}

// ephemeralRange is what the kernel uses, or the Linux default.
func ephemeralRange() (low, high int) {
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		fields := strings.Fields(string(data))
		if len(fields) == 2 {
			low, err1 := strconv.Atoi(fields[0])
			high, err2 := strconv.Atoi(fields[1])
			if err1 == nil && err2 == nil {
				return low, high
			}
		}
	}
	return 32768, 60999
}
