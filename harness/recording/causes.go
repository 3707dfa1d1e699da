package recording

// Causes are all causes of failures, in the order of their declaration.
func Causes() []Cause {
	return []Cause{Overloaded, Injected, NoEndpoint, Refused, Reset, TimedOut, NoRoute, ClientRace, ClientLimit, Other}
}
