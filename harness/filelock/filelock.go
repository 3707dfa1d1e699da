// Package filelock locks files between processes.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often somebody who waits looks again. The kernel has no blocking
// lock that a context could end.
const poll = 100 * time.Millisecond

// Lock is a file lock. The kernel drops it when its holder dies, however it dies; the
// file itself stays, since removing it would let two holders lock two different files
// of one name.
type Lock struct{ file *os.File }

// Try takes an exclusive lock. It returns nil without an error if another holds one.
func Try(path string) (*Lock, error) { return lock(path, unix.LOCK_EX|unix.LOCK_NB) }

// Share takes a lock that others may share, for which it waits until nobody holds an
// exclusive one.
func Share(path string) (*Lock, error) { return lock(path, unix.LOCK_SH) }

func lock(path string, how int) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return &Lock{file: f}, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// Acquire waits for the lock, calling waiting once if it has to.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	for first := true; ; first = false {
		l, err := Try(path)
		if l != nil || err != nil {
			return l, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// Note replaces the text in the file, such as who holds the lock.
func (l *Lock) Note(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// Release unlocks before it closes: a child between fork and exec has a copy of
// the descriptor, and would hold the lock a moment longer.
func (l *Lock) Release() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	l.file.Close()
}
