package embedded

import "golang.org/x/sys/unix"

// freeBytes is what this user may still write to the disk of a directory.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
