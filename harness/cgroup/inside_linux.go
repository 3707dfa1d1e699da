package cgroup

import (
	"os"
	"syscall"
)

// makeInside has a child made in a group of version 2 (clone3(2), CLONE_INTO_CGROUP).
func makeInside(attributes *syscall.SysProcAttr, dir *os.File) {
	attributes.UseCgroupFD, attributes.CgroupFD = true, int(dir.Fd())
}
