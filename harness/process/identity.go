package process

import (
	"fmt"
	"strconv"
	"strings"
)

// Identity names one process for good. The id alone does not: ids are reused.
// The start time is in clock ticks since boot (proc_pid_stat(5), field 22), so
// the boot is part of it.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// IsZero says whether this names no process.
func (i Identity) IsZero() bool { return i.PID == 0 }

// String renders pid:start:boot.
func (i Identity) String() string {
	return fmt.Sprintf("%d:%d:%s", i.PID, i.Start, i.Boot)
}

// ParseIdentity reads what String wrote.
func ParseIdentity(s string) (Identity, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return Identity{}, fmt.Errorf("process identity %q: want pid:start:boot", s)
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil {
		return Identity{}, fmt.Errorf("process identity %q: %w", s, err)
	}
	start, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Identity{}, fmt.Errorf("process identity %q: %w", s, err)
	}
	return Identity{PID: pid, Start: start, Boot: parts[2]}, nil
}
