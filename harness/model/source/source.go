// Package source says where in a component's code a model's rule was read. It is pure.
package source

import "fmt"

// A Basis is where a rule was read.
type Basis struct {
	Source string // path in the component's repository
	Line   int    // 0 where the version has no such rule
	Tag    string
	Note   string
}

// String is such as "pkg/controller/deployment/rolling.go:68 (v1.37.2)", "" for
// a rule that the version does not have.
func (b Basis) String() string {
	if b.Source == "" || b.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d (%s)", b.Source, b.Line, b.Tag)
}
