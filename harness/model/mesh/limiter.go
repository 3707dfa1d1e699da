package mesh

// PushThrottle is how many proxies one replica pushes to at a time, unless
// PILOT_PUSH_THROTTLE says otherwise. GOMAXPROCS under 1 counts as 1, as in Go.
func PushThrottle(gomaxprocs int) int { return min(15+5*max(gomaxprocs, 1), 100) }

// RequestLimit is how many new streams a second one replica admits, unless
// PILOT_MAX_REQUESTS_PER_SECOND says otherwise. It cannot be switched off, only set high.
func RequestLimit(gomaxprocs int) float64 { return float64(PushThrottle(gomaxprocs)) }

// Admission is how many streams a second some Ready replicas admit together, and whether
// that is limited at all: a limit of 0 is none.
func Admission(ready int, limit float64) (perSecond float64, limited bool) {
	if limit <= 0 {
		return 0, false
	}
	return float64(max(ready, 0)) * limit, true
}
