package workload

import "context"

// Act is a part of a script.
type Act func(ctx context.Context) error

// InOrder does one act after the other.
func InOrder(ctx context.Context, acts ...Act) error {
	for _, act := range acts {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Step makes an act that is a named step.
func (s *Script) Step(name string, do Act) Act {
	return func(ctx context.Context) error { return s.Stage.Step(ctx, name, do) }
}
