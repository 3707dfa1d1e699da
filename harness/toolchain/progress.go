package toolchain

import "strings"

// Phase is what a build is at.
type Phase string

// The phases, in their usual order. A cached component goes to PhaseReady at
// once.
const (
	PhaseWait     Phase = "waiting"     // another builder is at the same target
	PhaseResolve  Phase = "resolving"   // finding the versions of all modules
	PhaseDownload Phase = "downloading" // Done modules so far; Total is not known
	PhaseCompile  Phase = "compiling"   // Done of Total packages
	PhaseLink     Phase = "linking"
	PhaseUnpack   Phase = "unpacking"  // packages of a root file system
	PhaseAssemble Phase = "assembling" // an image
	PhaseReady    Phase = "ready"
)

// Event is one step of a build.
type Event struct {
	Component string
	Version   string
	Phase     Phase
	Done      int    // never above Total, unless Total is 0
	Total     int    // 0 means unknown
	Item      string // the package or module just begun, if any
}

// Progress receives events. Within one Build they come one after the other;
// builds that run side by side share the Progress, which must allow that.
// Update must return soon: the go command waits for it.
type Progress interface{ Update(Event) }

// ProgressFunc makes a function a Progress.
type ProgressFunc func(Event)

// Update calls the function.
func (f ProgressFunc) Update(e Event) { f(e) }

// meter turns the lines of the go command into events of one build.
type meter struct {
	to    Progress
	event Event // component and version filled in

	downloads int
	todo      map[string]bool // packages that the list said are to be compiled
	total     int
	begun     int
	mains     map[string]bool // programs not yet begun
}

func newMeter(to Progress, component, version string) *meter {
	return &meter{to: to, event: Event{Component: component, Version: version}}
}

func (m *meter) phase(p Phase) { m.send(p, 0, 0, "") }

func (m *meter) send(p Phase, done, total int, item string) {
	if m.to == nil {
		return
	}
	e := m.event
	e.Phase, e.Done, e.Total, e.Item = p, done, total, item
	m.to.Update(e)
}

// download recognises the go command's note about a module it fetches.
func (m *meter) download(line string) bool {
	item, ok := strings.CutPrefix(line, "go: downloading ")
	if ok {
		m.downloads++
		m.send(PhaseDownload, m.downloads, 0, item)
	}
	return ok
}

// expect sets the packages to be compiled: true for those out of date. All
// others are known as packages too, since the list may be wrong: another
// build may have filled the compile cache meanwhile, or emptied it, and a
// package counts as out of date if one that it imports is, although compiling
// that may well make what it was. mains are the programs, which end a build.
func (m *meter) expect(packages map[string]bool, mains []string) {
	m.todo, m.total, m.begun, m.mains = packages, 0, 0, map[string]bool{}
	for _, stale := range packages {
		if stale {
			m.total++
		}
	}
	for _, p := range mains {
		if packages[p] {
			m.mains[p] = true
		}
	}
	if m.total == 0 {
		m.phase(PhaseLink)
		return
	}
	m.send(PhaseCompile, 0, m.total, "")
}

// compile recognises the import path that go build -v prints when it begins a
// package. A package counts as done when it is begun: too early by as many as
// the go command compiles side by side. The linker begins when nothing is left
// or all programs were begun, whatever the count says.
func (m *meter) compile(line string) bool {
	stale, known := m.todo[line]
	if !known || !stale {
		return known
	}
	m.todo[line] = false // count it once
	m.begun++
	m.send(PhaseCompile, m.begun, m.total, line)
	if m.mains[line] {
		if delete(m.mains, line); len(m.mains) == 0 {
			m.phase(PhaseLink)
		}
	} else if m.begun == m.total {
		m.phase(PhaseLink)
	}
	return true
}
