package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cluster"
)

const (
	providerName = cluster.Embedded
	fidelity     = "real etcd, apiserver, controller manager, scheduler and controllers; nodes and pods simulated by kwok, readiness scripted"
	defaultNodes = 2
)

// Binaries are the programs of a cluster, by path.
type Binaries struct {
	Etcd              string
	APIServer         string
	ControllerManager string
	Scheduler         string
	Kwok              string
}

// byComponent maps process names to binaries.
func (b Binaries) byComponent() map[string]string {
	return map[string]string{
		etcdName:              b.Etcd,
		apiServerName:         b.APIServer,
		controllerManagerName: b.ControllerManager,
		schedulerName:         b.Scheduler,
		kwokName:              b.Kwok,
	}
}

// BinariesIn expects the five programs in one directory under their own names.
func BinariesIn(dir string) Binaries {
	return Binaries{
		Etcd:              filepath.Join(dir, etcdName),
		APIServer:         filepath.Join(dir, apiServerName),
		ControllerManager: filepath.Join(dir, controllerManagerName),
		Scheduler:         filepath.Join(dir, schedulerName),
		Kwok:              filepath.Join(dir, kwokName),
	}
}

// Config says what cluster to make.
type Config struct {
	cluster.Options

	// Root is the directory that holds all clusters of a user. Required.
	Root string
	// Binaries are all required.
	Binaries Binaries
	// Versions are recorded as facts, by component. What a component says of
	// itself wins over what is given here.
	Versions map[string]string
	// Digests are recorded as facts, by component. Those that are missing are
	// computed, which costs a pass over some hundred megabytes.
	Digests map[string]string
	// Progress, if set, is told what is being done.
	Progress func(step string)
	// Clock is for certificates and records. Nil: the real one.
	Clock clock.PassiveClock
}

// complete fills in defaults and refuses what cannot work.
func (c Config) complete() (Config, error) {
	if c.Root == "" {
		return c, errors.New("embedded cluster: no root directory given")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return c, fmt.Errorf("embedded cluster: %w", err)
	}
	c.Root = root
	if c.Name == "" {
		c.Name = randomName()
	}
	if err := cluster.CheckName(c.Name); err != nil {
		return c, fmt.Errorf("embedded cluster: %w", err)
	}
	switch {
	case c.Nodes == 0:
		c.Nodes = defaultNodes
	case c.Nodes < 0 || c.Nodes > MaxNodes:
		return c, fmt.Errorf("embedded cluster: %d nodes; 1 to %d can be simulated", c.Nodes, MaxNodes)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, c.Binaries.check()
}

func randomName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, since Go 1.24)
	return "reckon-" + hex.EncodeToString(b[:])
}

// check makes a missing binary an error with its name, before anything starts.
func (b Binaries) check() error {
	var errs []error
	for _, name := range componentNames() {
		path := b.byComponent()[name]
		info, err := os.Stat(path)
		switch {
		case path == "":
			errs = append(errs, fmt.Errorf("embedded cluster: no binary of %s given", name))
		case err != nil:
			errs = append(errs, fmt.Errorf("embedded cluster: binary of %s: %w", name, err))
		case info.IsDir() || info.Mode()&0o111 == 0:
			errs = append(errs, fmt.Errorf("embedded cluster: binary of %s: %s is not an executable file", name, path))
		}
	}
	return errors.Join(errs...)
}
