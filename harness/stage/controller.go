package stage

import "context"

// Controller is the controller under test in the hands of a script that puts other
// releases of it in its place. It runs when the script begins. Where several run at a
// time, as a scenario.Elector has them, they are told apart by the order of their start.
type Controller interface {
	// Stop asks the first of those that run, if any does, to end, and returns when it is gone.
	Stop(ctx context.Context) error
	// Kill ends it without asking, in the middle of whatever it does.
	Kill(ctx context.Context) error
	// Install puts in place what a release needs before it starts: its CRDs.
	Install(ctx context.Context, version string) error
	// Start starts a release, beside any that runs, and returns once it is healthy. One
	// that ends before, or does not get healthy, is an ErrNotReached with the end of its log.
	Start(ctx context.Context, version string) error
	// Ended says that no controller runs, or how one ended by itself, as an ErrNotReached;
	// nil while all run that were started and not stopped.
	Ended() error
}
