package echo

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"
)

// OnTerm is what a server does when it is asked to end (SIGTERM).
type OnTerm string

const (
	// Drain: accept no more at once, finish what is in flight, end.
	Drain OnTerm = "drain"
	// Exit: end at once; what is in flight is lost.
	Exit OnTerm = "exit"
	// Linger: serve as before for a while, then drain.
	Linger OnTerm = "linger"
)

// Config says what a server is like. FromEnv reads it from the environment:
//
//	POD_NAME       name of the pod, which every answer states. Required
//	VERSION        version of the template (label reckon.dev/version). Required
//	TEMPLATE_HASH  hash of the template (label rollouts-pod-template-hash or pod-template-hash)
//	POD_IP         address of the pod; required with READY_EVERY
//	READY_DELAY    how long after its start the server is ready, e.g. 2s. Default 0
//	READY_EVERY    extra delay of (slot+1) x READY_EVERY, where the slot is the number in
//	               the last two octets of POD_IP modulo READY_SLOTS: pods with
//	               consecutive addresses become ready one after the other. Default 0
//	READY_SLOTS    number of slots, 1 to 65536; required with READY_EVERY
//	FAIL_SHARE     share of the requests that fail, 0 to 1. Default 0
//	CONCURRENCY    requests served at once, over both protocols; more are refused
//	               as overloaded. 0, the default, is no limit
//	WORK           how long a request takes, holding its place, e.g. 20ms. Default 0
//	ON_TERM        what SIGTERM does: drain, the default (accept no more at once, not
//	               ready, finish what is in flight, end), exit (end at once) or linger
//	               (serve as before, ready, for LINGER, then drain)
//	LINGER         how long; required with ON_TERM=linger, refused otherwise
type Config struct {
	Pod, Version, Hash string
	// ReadyAfter is the sum of the delays.
	ReadyAfter  time.Duration
	FailShare   float64
	Concurrency int
	Work        time.Duration
	OnTerm      OnTerm
	Linger      time.Duration
}

// FromEnv reads and checks the environment. The error names all variables that
// are wrong, on one line.
func FromEnv(getenv func(string) string) (Config, error) {
	e := env{getenv: getenv}
	c := Config{
		Pod: e.required("POD_NAME"), Version: e.required("VERSION"), Hash: getenv("TEMPLATE_HASH"),
		ReadyAfter:  e.duration("READY_DELAY"),
		FailShare:   e.share("FAIL_SHARE"),
		Concurrency: e.number("CONCURRENCY", 0, math.MaxInt32),
		Work:        e.duration("WORK"),
		OnTerm:      OnTerm(getenv("ON_TERM")),
		Linger:      e.duration("LINGER"),
	}
	if every := e.duration("READY_EVERY"); every > 0 {
		slots := e.number("READY_SLOTS", 1, 1<<16)
		c.ReadyAfter += time.Duration(slot(e.address("POD_IP"), slots)+1) * every
	} else if getenv("READY_SLOTS") != "" {
		e.wrong("READY_SLOTS", "is of no use without READY_EVERY")
	}
	e.onTerm(&c)
	return c, e.err()
}

// slot is the place of an address in the order of readiness.
func slot(ip netip.Addr, slots int) int {
	if !ip.IsValid() || slots < 1 {
		return 0
	}
	b := ip.AsSlice()
	return (int(b[len(b)-2])<<8 | int(b[len(b)-1])) % slots
}

// env collects what is wrong with the environment.
type env struct {
	getenv func(string) string
	errs   []string
}

func (e *env) wrong(name, format string, args ...any) {
	e.errs = append(e.errs, name+" "+fmt.Sprintf(format, args...))
}

func (e *env) err() error {
	if len(e.errs) == 0 {
		return nil
	}
	text := e.errs[0]
	for _, more := range e.errs[1:] {
		text += "; " + more
	}
	return errors.New(text)
}

func (e *env) required(name string) string {
	v := e.getenv(name)
	if v == "" {
		e.wrong(name, "is not set")
	}
	return v
}

func (e *env) duration(name string) time.Duration {
	v := e.getenv(name)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		e.wrong(name, "is %q, want a duration such as 1.5s", v)
	}
	return d
}

func (e *env) share(name string) float64 {
	v := e.getenv(name)
	if v == "" {
		return 0
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		e.wrong(name, "is %q, want a number from 0 to 1", v)
	}
	return f
}

// number reads a whole number; what is not set is 0.
func (e *env) number(name string, least, most int) int {
	v := e.getenv(name)
	if v == "" {
		v = "0"
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		e.wrong(name, "is %q, want a whole number from %d to %d", e.getenv(name), least, most)
	}
	return n
}

func (e *env) address(name string) netip.Addr {
	ip, err := netip.ParseAddr(e.getenv(name))
	if err != nil {
		e.wrong(name, "is %q, want an IP address", e.getenv(name))
	}
	return ip
}

func (e *env) onTerm(c *Config) {
	switch c.OnTerm {
	case "":
		c.OnTerm = Drain
	case Drain, Exit, Linger:
	default:
		e.wrong("ON_TERM", "is %q, want drain, exit or linger", string(c.OnTerm))
	}
	switch lingers := c.OnTerm == Linger; {
	case lingers && c.Linger == 0:
		e.wrong("LINGER", "is not set, ON_TERM=linger needs it")
	case !lingers && c.Linger != 0:
		e.wrong("LINGER", "is of no use without ON_TERM=linger")
	}
}
