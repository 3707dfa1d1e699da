package mesh

import (
	"strings"
	"testing"
)

func TestEveryLawCanBeCited(t *testing.T) {
	seen := map[Rule]bool{}
	for _, l := range Laws() {
		if l.Rule == "" || l.Formula == "" || seen[l.Rule] {
			t.Errorf("%+v", l)
		}
		seen[l.Rule] = true
		for _, b := range l.Bases {
			if b.String() == "" || b.Tag == "" {
				t.Errorf("%s: %+v", l.Rule, b)
			}
		}
		if found, ok := LawOf(l.Rule); !ok || found.Formula != l.Formula {
			t.Errorf("%s is not found", l.Rule)
		}
	}
	if _, ok := LawOf("no such rule"); ok {
		t.Error("a law of no rule")
	}
	floor, _ := LawOf(RuleFloor)
	if got := floor.String(); got != "connection model, floor: CoV sqrt((k-1)/N), standard deviation of one reading floor/sqrt(2(k-1))" {
		t.Errorf("cited as %q", got)
	}
	rate, _ := LawOf(RuleSteadyRate)
	if got := rate.String(); !strings.HasSuffix(got, "[google.golang.org/grpc/internal/transport/http2_server.go:234 (v1.82.1), google.golang.org/grpc/internal/transport/http2_server.go:1490 (v1.82.1)]") {
		t.Errorf("cited as %q", got)
	}
}
