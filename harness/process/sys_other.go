//go:build !linux

package process

import (
	"context"
	"syscall"
)

const supported = false

func attributes(bool) *syscall.SysProcAttr { return nil }

func awaitExit(int) {}

func signalGroup(int, syscall.Signal) error { return ErrUnsupported }

func identify(int) (Identity, error) { return Identity{}, ErrUnsupported }

// Self is the identity of this process.
func Self() (Identity, error) { return Identity{}, ErrUnsupported }

// Of is the identity of the process that has this id now.
func Of(int) (Identity, error) { return Identity{}, ErrUnsupported }

// Alive says whether exactly this process still runs.
func (i Identity) Alive() bool { return false }

// Kill kills exactly this process.
func (i Identity) Kill(context.Context) error { return ErrUnsupported }

// Mentioning finds the running processes that have the text in their command line.
func Mentioning(string) ([]Identity, error) { return nil, ErrUnsupported }

// Marked finds the running processes that carry a mark.
func Marked(func(Mark) bool) ([]Stray, error) { return nil, ErrUnsupported }
