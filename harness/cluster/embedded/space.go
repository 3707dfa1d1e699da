package embedded

import "fmt"

// minFree is what a cluster may need at once: etcd allocates two segments of
// its log of 64 MB each when it starts (etcd 3.6, server/storage/wal,
// SegmentSizeBytes and the file pipeline), the rest is for data and logs.
const minFree = 256 << 20

// checkSpace refuses to start what would die of a full disk somewhere inside.
func checkSpace(dir string, free func(string) (uint64, error)) error {
	n, err := free(dir)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	if n < minFree {
		return fmt.Errorf("only %d MiB are free on the disk of %s; a cluster needs %d MiB", n>>20, dir, minFree>>20)
	}
	return nil
}
