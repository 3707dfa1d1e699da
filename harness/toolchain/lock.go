package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a waiting builder looks again. The kernel has no
// blocking lock that a context could end.
const lockPoll = 100 * time.Millisecond

// lock is an exclusive file lock. The kernel drops it when its holder dies,
// however it dies; the file itself stays, since removing it would let two
// holders lock two different files of one name.
type lock struct{ file *os.File }

// tryLock returns nil without an error if another holds the lock.
func tryLock(path string) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return &lock{file: f}, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// acquire waits for the lock, calling waiting once if it has to.
func acquire(ctx context.Context, path string, waiting func()) (*lock, error) {
	for first := true; ; first = false {
		l, err := tryLock(path)
		if l != nil || err != nil {
			return l, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// release unlocks before it closes: a child between fork and exec has a copy of
// the descriptor, and would hold the lock a moment longer.
func (l *lock) release() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	l.file.Close()
}
