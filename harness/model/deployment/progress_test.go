package deployment

import (
	"math"
	"testing"
	"time"
)

// Upstream: TestDeploymentTimedOut has 10 s and a condition 11 s and 9 s old.
func TestDeadlineIsExceededWithinASecondEitherWay(t *testing.T) {
	b, ok := DeadlineBounds(10)
	if !ok || b.NotBefore != 9*time.Second || b.By != 11*time.Second {
		t.Errorf("%+v %t", b, ok)
	}
	if _, ok := DeadlineBounds(math.MaxInt32); ok {
		t.Error("the largest int32 is no deadline")
	}
	if b, ok := DeadlineBounds(0); !ok || b.NotBefore != 0 {
		t.Errorf("%+v %t", b, ok)
	}
}

func TestAvailableIsUpToASecondEarly(t *testing.T) {
	if b := AvailableBounds(5); b.NotBefore != 4*time.Second || b.By != 5*time.Second {
		t.Errorf("%+v", b)
	}
	if b := AvailableBounds(0); b != (Bounds{}) {
		t.Errorf("without minReadySeconds %+v", b)
	}
}

// Upstream: TestDeploymentProgressing and TestDeploymentComplete.
func TestProgressIsMorePodsOrFewerOldOnes(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after Status
		want          bool
	}{
		{"nothing", Status{10, 4, 4, 4}, Status{10, 4, 4, 4}, false},
		{"more updated", Status{10, 4, 4, 4}, Status{12, 6, 4, 4}, true},
		{"fewer old", Status{10, 4, 4, 4}, Status{9, 4, 4, 4}, true},
		{"fewer old and updated", Status{10, 4, 4, 4}, Status{7, 3, 3, 3}, true},
		{"only lost", Status{10, 4, 4, 4}, Status{10, 4, 3, 3}, false},
		{"lost and back", Status{10, 4, 3, 3}, Status{10, 4, 4, 3}, true},
		{"available", Status{10, 4, 4, 3}, Status{10, 4, 4, 4}, true},
	} {
		if got := Progressed(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	if !Complete(5, Status{5, 5, 5, 5}) || Complete(5, Status{6, 5, 6, 6}) || Complete(5, Status{5, 5, 5, 4}) || Complete(5, Status{5, 1, 5, 5}) {
		t.Error("complete is all pods new and available, and none else")
	}
	v := NewView(Spec{Template: "b"}, ReplicaSet{Name: "a", Created: 1, Pods: 3, Available: 2}, ReplicaSet{Name: "b", Created: 2, Pods: 4, Available: 1})
	if got := StatusOf(v); got != (Status{7, 4, 3, 3}) {
		t.Errorf("status %+v", got)
	}
}
