package scenario_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/scenario"
)

type common struct {
	Replicas int               `json:"replicas" min:"0" max:"500" doc:"replicas"`
	Ramp     scenario.Duration `json:"ramp" doc:"one pod each"`
}

type params struct {
	common
	Name   string   `json:"name,omitempty" enum:"a,b" doc:"a name"`
	List   []string `json:"list"`
	Low    int      `json:"low" min:"1"`
	High   *int     `json:"high"`
	Ready  bool     `json:"ready"`
	Top    int      `json:"top" max:"9"`
	hidden int
}

func good() *params {
	return &params{common: common{Replicas: 20, Ramp: scenario.Duration(time.Second)}, Name: "a", Low: 1}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	_ = params{}.hidden
	want := []scenario.Param{
		{Name: "replicas", Type: "integer", Default: "20", Bounds: "0 to 500", Doc: "replicas"},
		{Name: "ramp", Type: "duration", Default: `"1s"`, Doc: "one pod each"},
		{Name: "name", Type: "string", Default: `"a"`, Bounds: "a | b", Doc: "a name"},
		{Name: "list", Type: "list", Default: "null"},
		{Name: "low", Type: "integer", Default: "1", Bounds: "at least 1"},
		{Name: "high", Type: "integer", Default: "null"},
		{Name: "ready", Type: "bool", Default: "false"},
		{Name: "top", Type: "integer", Default: "0", Bounds: "at most 9"},
	}
	if got := scenario.Describe(good()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := scenario.Names(good()); !reflect.DeepEqual(got, []string{"replicas", "ramp", "name", "list", "low", "high", "ready", "top"}) {
		t.Errorf("names %q", got)
	}
}

func TestChangedSaysWhatIsNotAtItsDefault(t *testing.T) {
	t.Parallel()
	high := 3
	for name, c := range map[string]struct {
		change func(*params)
		want   []string
	}{
		"nothing":            {func(*params) {}, nil},
		"a number":           {func(p *params) { p.Replicas = 7 }, []string{"replicas=7"}},
		"a word":             {func(p *params) { p.Name = "b" }, []string{"name=b"}},
		"a text with spaces": {func(p *params) { p.Name = "a b" }, []string{`name="a b"`}},
		"no text":            {func(p *params) { p.Name = "" }, []string{`name=""`}},
		"in the struct's order": {func(p *params) {
			p.High, p.Ramp, p.List = &high, scenario.Duration(2*time.Second), []string{"x", "y"}
		}, []string{"ramp=2s", `list=["x","y"]`, "high=3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := good()
			c.change(p)
			if got := scenario.Changed(good(), p); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*params)
		want   string
	}{
		"as it is":                    {func(*params) {}, ""},
		"the least":                   {func(p *params) { p.Replicas = 0 }, ""},
		"the most":                    {func(p *params) { p.Replicas = 500 }, ""},
		"below the least":             {func(p *params) { p.Replicas = -1 }, "replicas: -1 is too small, expected 0 to 500"},
		"above the most":              {func(p *params) { p.Replicas = 501 }, "replicas: 501 is too large, expected 0 to 500"},
		"below a bound with no other": {func(p *params) { p.Low = 0 }, "low: 0 is too small, expected at least 1"},
		"above a bound with no other": {func(p *params) { p.Top = 10 }, "top: 10 is too large, expected at most 9"},
		"an unknown word":             {func(p *params) { p.Name = "c" }, `name: "c" is unknown, expected a | b, did you mean "a"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := good()
			c.change(p)
			for _, arg := range []any{p, *p} {
				err := scenario.CheckBounds(arg)
				if c.want == "" && err != nil || c.want != "" && fmt.Sprint(err) != c.want {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if _, ok := errors.AsType[*scenario.FieldError](err); err != nil && !ok {
					t.Errorf("error is %T", err)
				}
			}
		})
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	const unit = `: give a number with a unit, such as "1s" or "500ms"`
	for text, c := range map[string]struct {
		want time.Duration
		err  string
	}{
		`"1s"`:    {want: time.Second},
		`"500ms"`: {want: 500 * time.Millisecond},
		`"1m30s"`: {want: 90 * time.Second},
		`"0s"`:    {},
		`1`:       {err: `a duration is text with a unit, such as "1s" or "500ms", not 1`},
		`[1]`:     {err: `a duration is text with a unit, such as "1s" or "500ms", not [1]`},
		`null`:    {err: `"" is no duration` + unit},
		`""`:      {err: `"" is no duration` + unit},
		`"1"`:     {err: `"1" is no duration` + unit},
		`"1 s"`:   {err: `"1 s" is no duration` + unit},
		`"soon"`:  {err: `"soon" is no duration` + unit},
		`"-1s"`:   {err: `the duration "-1s" is negative`},
	} {
		var got scenario.Duration
		err := got.UnmarshalJSON([]byte(text))
		if c.err != "" {
			if fmt.Sprint(err) != c.err {
				t.Errorf("%s: error %v, want %s", text, err, c.err)
			}
			continue
		}
		if err != nil || got.Std() != c.want {
			t.Errorf("%s: %s, error %v", text, got, err)
		}
	}
}

func TestDurationsSurviveJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := scenario.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(rt, "duration"))
		raw, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		var got, text scenario.Duration
		if err := json.Unmarshal(raw, &got); err != nil || got != want {
			rt.Fatalf("%s became %s by way of %s (%v)", want, got, raw, err)
		}
		if err := text.UnmarshalText([]byte(want.String())); err != nil || text != want {
			rt.Fatalf("%s became %s as text (%v)", want, text, err)
		}
	})
}

func TestControllerManagerVersionIsKubernetesUnlessItHasItsOwn(t *testing.T) {
	t.Parallel()
	for want, versions := range map[string]map[string]string{
		"v1.37.2": {"kubernetes": "v1.37.2"},
		"v1.36.3": {"kubernetes": "v1.37.2", "kube-controller-manager": "v1.36.3"},
		"":        {"argo-rollouts": "v1.8.2"},
	} {
		if got := scenario.ControllerManagerVersion(versions); got != want {
			t.Errorf("%v: %q, want %q", versions, got, want)
		}
	}
}
