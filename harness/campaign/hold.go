package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"reckon.dev/reckon/harness/filelock"
	"reckon.dev/reckon/harness/process"
)

// hold is a lock of a campaign with the name of its holder in it.
type hold struct{ lock *filelock.Lock }

// HeldError says that another process runs the campaign.
type HeldError struct {
	ID string
	// By is its identity, zero if it has not said so yet.
	By process.Identity
}

func (e *HeldError) Error() string {
	who := "another process"
	if !e.By.IsZero() {
		who = fmt.Sprintf("process %d", e.By.PID)
	}
	return fmt.Sprintf("the campaign %s is being run by %s: wait for its end, or interrupt it", e.ID, who)
}

// take locks a campaign's directory for the life of this process.
func take(dir string) (*hold, error) {
	path := filepath.Join(dir, lockFile)
	lock, err := filelock.Try(path)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, &HeldError{ID: filepath.Base(dir), By: holder(path)}
	}
	self, err := process.Self()
	if errors.Is(err, process.ErrUnsupported) {
		self, err = process.Identity{PID: os.Getpid()}, nil
	}
	if err == nil {
		err = lock.Note(self.String() + "\n")
	}
	if err != nil {
		lock.Release()
		return nil, fmt.Errorf("locking the campaign: %w", err)
	}
	return &hold{lock}, nil
}

func (h *hold) release() {
	_ = h.lock.Note("") // nobody is named where nobody holds it
	h.lock.Release()
}

// holder is who a lock says holds it, zero if it says nobody.
func holder(path string) process.Identity {
	raw, err := os.ReadFile(path)
	if err != nil {
		return process.Identity{}
	}
	id, err := process.ParseIdentity(strings.TrimSpace(string(raw)))
	if err != nil {
		return process.Identity{}
	}
	return id
}

// RunBy is the process that runs a campaign now. It only looks: who wants to be sure
// that nobody does takes hold of it.
func RunBy(results, id string) (process.Identity, bool) {
	by := holder(filepath.Join(results, campaignsDir, id, lockFile))
	return by, by.Alive()
}
