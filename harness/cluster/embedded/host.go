package embedded

import (
	"fmt"
	"strconv"
)

// ReservePorts keeps n loopback ports for programs that run on the cluster's
// behalf, until the cluster is down.
func (c *Cluster) ReservePorts(n int) ([]int, error) {
	got, err := reservePorts(n)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		releaseAll(got)
		return nil, fmt.Errorf("cluster %s is down", c.cfg.Name)
	}
	ports := make([]int, n)
	for i, r := range got {
		ports[i] = r.port
		c.reservations["host-"+strconv.Itoa(r.port)] = r
	}
	return ports, nil
}
