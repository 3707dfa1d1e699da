package toolchain

import (
	"slices"
	"strconv"
	"testing"
)

func TestMeterNeverPassesItsTotal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		stale map[string]bool
		lines []string
		want  []string
	}{
		{"as listed", map[string]bool{"a": true, "b": true, "fmt": false}, []string{"a", "b"},
			[]string{"compiling 0/2", "compiling 1/2", "compiling 2/2", "linking 0/0"}},
		{"nothing to do", map[string]bool{"a": false}, nil, []string{"linking 0/0"}},
		{"more than listed", map[string]bool{"a": true, "fmt": false}, []string{"fmt", "a", "a"},
			[]string{"compiling 0/1", "compiling 1/1", "linking 0/0"}},
		{"less than listed", map[string]bool{"a": true, "b": true}, []string{"b"},
			[]string{"compiling 0/2", "compiling 1/2"}},
		{"program begun early", map[string]bool{"a": true, "b": true, "main": true}, []string{"b", "main"},
			[]string{"compiling 0/3", "compiling 1/3", "compiling 2/3", "linking 0/0"}},
		{"only the program", map[string]bool{"a": false, "main": true}, []string{"main"},
			[]string{"compiling 0/1", "compiling 1/1", "linking 0/0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			m := newMeter(ProgressFunc(func(e Event) {
				got = append(got, string(e.Phase)+" "+strconv.Itoa(e.Done)+"/"+strconv.Itoa(e.Total))
			}), "c", "v")
			m.expect(tt.stale, []string{"main"})
			for _, l := range tt.lines {
				if !m.compile(l) {
					t.Errorf("%q was not taken for a package", l)
				}
			}
			if m.compile("# a") {
				t.Error("a heading of errors was taken for a package")
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("events %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStalenessIsReadFromGoList(t *testing.T) {
	t.Parallel()
	got := parseStale("fmt\tfalse\t\nk8s.io/api\ttrue\tbuild ID mismatch\n" +
		"x/cmd/y\ttrue\tnot installed but available in build cache\ngarbage\n\n")
	if len(got) != 3 || got["fmt"] || !got["k8s.io/api"] || got["x/cmd/y"] {
		t.Errorf("got %v", got)
	}
}

func TestGoErrorsAreClassified(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]error{
		"dial tcp: lookup proxy.test: no such host":                       ErrNoNetwork,
		"module lookup disabled by GOPROXY=off":                           ErrNoNetwork,
		"verifying m@v1: checksum mismatch":                               ErrChecksum,
		"link: write out: no space left on device":                        ErrNoSpace,
		"m@v1.9.3 requires go >= 1.26.10 (running go 1.26.8)":             ErrGoTooOld,
		"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN)": ErrGoTooOld,
		"a.go:1:1: undefined: x":                                          nil,
		"reading m/@v/v9.info: 403 Forbidden":                             nil,
	} {
		if got := classify(output); got != want {
			t.Errorf("%q: %v, want %v", output, got, want)
		}
	}
}

func TestLineWriterKeepsTheTail(t *testing.T) {
	t.Parallel()
	w := &lineWriter{take: func(l string) bool { return l == "taken" }}
	for i := range tailLines + 5 {
		_, _ = w.Write([]byte("line " + strconv.Itoa(i)))
		_, _ = w.Write([]byte("\ntaken\n"))
	}
	_, _ = w.Write([]byte("end"))
	if len(w.kept) != tailLines || w.kept[0] != "line 5" {
		t.Errorf("kept %d lines from %q", len(w.kept), w.kept[0])
	}
	if tail := w.tail(); tail[len(tail)-4:] != "\nend" {
		t.Errorf("tail %q", tail)
	}
}

func TestOnlyHarmlessFlagsOfTheUserAreKept(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "-mod=readonly", "-race -tags=x": "-mod=readonly", "-modcacherw -mod=vendor": "-mod=readonly -modcacherw",
	} {
		if got := keptFlags(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
