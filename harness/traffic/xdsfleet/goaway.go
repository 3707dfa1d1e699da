package xdsfleet

import "net"

// watchedConn is a connection that tells of the server's GOAWAY. grpc-go says of it
// only that the channel is idle, as it says of a connection that broke.
type watchedConn struct {
	net.Conn
	frames frames
	goAway func()
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.frames.read(p[:n]) {
		c.goAway()
	}
	return n, err
}

// frames follows a stream of HTTP/2 frames (RFC 9113, section 4.1: three bytes of
// length, the type, flags, four bytes of a stream's number, and then the payload).
type frames struct {
	head []byte
	skip int // of the payload
}

const (
	frameHead  = 9
	goAwayType = 7
)

// read takes the bytes that come next and says whether a GOAWAY begins in them.
func (f *frames) read(p []byte) bool {
	found := false
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip -= n
			p = p[n:]
			continue
		}
		n := min(frameHead-len(f.head), len(p))
		f.head = append(f.head, p[:n]...)
		if p = p[n:]; len(f.head) == frameHead {
			f.skip = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			found = found || f.head[3] == goAwayType
			f.head = f.head[:0]
		}
	}
	return found
}
