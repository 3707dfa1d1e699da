package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// attributes are what ties a child to us or sets it free.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the child is dead, without reaping it.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// signalGroup signals a child of ours and the group that it leads.
func signalGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }

// Self is the identity of this process.
func Self() (Identity, error) { return identify(os.Getpid()) }

// Of is the identity of the process that has this id now.
func Of(pid int) (Identity, error) { return identify(pid) }

func identify(pid int) (Identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	fields, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: fields.start, Boot: strings.TrimSpace(string(boot))}, nil
}

type statFields struct {
	state  byte
	parent int
	start  uint64
}

// readStat reads /proc/PID/stat. The command may hold blanks and parentheses:
// the fields begin after the last closing one (proc_pid_stat(5)).
func readStat(pid int) (statFields, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return statFields{}, err
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22 of the page
	if len(fields) <= start {
		return statFields{}, fmt.Errorf("/proc/%d/stat: only %d fields", pid, len(fields))
	}
	var f statFields
	f.state = fields[state][0]
	if f.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return statFields{}, err
	}
	f.start, err = strconv.ParseUint(string(fields[start]), 10, 64)
	return f, err
}

// Alive says whether exactly this process still runs. A zombie does not.
func (i Identity) Alive() bool {
	now, err := identify(i.PID)
	if err != nil || now != i {
		return false
	}
	stat, err := readStat(i.PID)
	return err == nil && stat.state != 'Z' && stat.state != 'X'
}

// Kill kills exactly this process and waits for its end. If it is gone, or its
// id belongs to another process by now, there is nothing to do.
func (i Identity) Kill(ctx context.Context) error {
	if i.PID <= 1 || !i.Alive() {
		return nil
	}
	fd, err := unix.PidfdOpen(i.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kill %s: %w", i, err)
	}
	defer unix.Close(fd)
	// The descriptor holds one process. Only now is the check not a race.
	if !i.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill %s: %w", i, err)
	}
	return awaitPidfd(ctx, fd, i)
}

// awaitPidfd returns when the process is dead: a pidfd becomes readable then.
// The poll wakes up only to look at the context.
func awaitPidfd(ctx context.Context, fd int, i Identity) error {
	const wakeMillis = 50
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wakeMillis)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s: %w", i, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("process %s did not end: %w", i, ctx.Err())
		}
	}
}

// Marked finds the running processes that carry a mark which match accepts.
// This process and its ancestors are never among them.
func Marked(match func(Mark) bool) ([]Stray, error) {
	pids, err := others()
	var out []Stray
	for _, pid := range pids {
		if stray, ok := inspect(pid); ok && match(stray.Mark) {
			out = append(out, stray)
		}
	}
	return out, err
}

// Mentioning finds the running processes that have the text somewhere in their
// command line. This process and its ancestors are never among them.
func Mentioning(text string) ([]Identity, error) {
	pids, err := others()
	var out []Identity
	for _, pid := range pids {
		command, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if readErr != nil || !bytes.Contains(command, []byte(text)) {
			continue
		}
		if who, err := identify(pid); err == nil {
			out = append(out, who)
		}
	}
	return out, err
}

// others are all processes but this one and its ancestors.
func others() ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	family := ancestors()
	var out []int
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && !family[pid] {
			out = append(out, pid)
		}
	}
	return out, err
}

// inspect reads one process. Processes come and go and belong to others: what
// cannot be read is not ours.
func inspect(pid int) (Stray, bool) {
	before, err := identify(pid)
	if err != nil {
		return Stray{}, false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return Stray{}, false
	}
	mark, ok := parseMark(strings.Split(string(environ), "\x00"))
	if !ok || !before.Alive() {
		return Stray{}, false
	}
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := strings.Cut(string(command), "\x00")
	return Stray{Identity: before, Mark: mark, Command: name}, true
}

// ancestors are this process and all its parents.
func ancestors() map[int]bool {
	out := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !out[pid]; {
		out[pid] = true
		stat, err := readStat(pid)
		if err != nil {
			break
		}
		pid = stat.parent
	}
	return out
}
