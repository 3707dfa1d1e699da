package cluster

import (
	"cmp"
	"errors"
	"fmt"
)

// Clean is the command that removes what a tear-down left.
const Clean = "reckon clean"

// LeftError says that a tear-down left something behind. Providers return it, by
// itself or among other errors, wherever they cannot keep the promise that nothing
// is left.
type LeftError struct {
	What   string // is left, such as "cluster c (its containers, and /dir)"
	Remedy string // is the command that removes it; empty: Clean
	Err    error  // is why
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("clean-up incomplete, left: %s, to be removed with `%s`: %v", e.What, cmp.Or(e.Remedy, Clean), e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// Left is a failed tear-down of something as a LeftError, unless the error holds
// one that knows better; nil if nothing failed.
func Left(what string, err error) error {
	if err == nil || LeftOf(err) != nil {
		return err
	}
	return &LeftError{What: what, Err: err}
}

// LeftOf is what an error says is left, nil for nothing.
func LeftOf(err error) *LeftError {
	left, _ := errors.AsType[*LeftError](err)
	return left
}
