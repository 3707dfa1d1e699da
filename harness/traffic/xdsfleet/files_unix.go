//go:build unix

package xdsfleet

import (
	"fmt"
	"syscall"
)

// spareFiles is for all that is no connection, and for connections that are still
// being closed while the next is made.
const spareFiles = 100

// enoughFiles is an error if the process may not have as many files as the proxies
// need. Go has set the soft limit to the hard one already (os/rlimit.go, go1.26).
func enoughFiles(proxies int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("asking how many files may be open: %w", err)
	}
	return fitsFiles(proxies, uint64(limit.Cur))
}

func fitsFiles(proxies int, limit uint64) error {
	if need := uint64(proxies + spareFiles); limit < need {
		return fmt.Errorf("%d proxies need %d open files, and %d are allowed: raise the limit with `ulimit -n %d`", proxies, need, limit, need)
	}
	return nil
}
