package embedded

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reserveName takes the abstract Unix socket address of a port (unix(7)).
//
// It is as good as a lock file, and better here: its scope is the network
// namespace, which is exactly the scope of the port, so it works between users,
// between state directories and between containers that share a network; binding
// is atomic; and the kernel removes it with the last file descriptor. Nothing
// listens on it: a connection is refused.
func reserveName(port int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	name := fmt.Sprintf("@reckon.dev/port/%d", port)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		_ = unix.Close(fd)
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, errPortTaken
		}
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
