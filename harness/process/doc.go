// Package process runs the programs that a drill needs as supervised children.
//
// It keeps three promises:
//   - A supervised child does not outlive the program that started it, not even
//     when that program is killed with SIGKILL (parent death signal).
//   - A child that dies by itself is noticed at once, with its exit status and
//     the end of its log.
//   - A process is only ever killed after its identity was verified: a process
//     id alone may belong to somebody else by now.
//
// Process supervision needs Linux (parent death signal, /proc, pidfd). On other
// systems everything compiles and Start returns ErrUnsupported.
package process
