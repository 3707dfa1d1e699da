package rollback_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reckon.dev/reckon/scenarios/rollback"
)

func TestStepForms(t *testing.T) {
	t.Parallel()
	three := 3
	const forms = `a whole weight, "pause", "pause 2s", "pause forever", or one of setWeight, pause, setCanaryScale`
	for name, c := range map[string]struct {
		text  string
		want  rollback.Step
		short string
		err   string
	}{
		"a number is a weight":        {text: `5`, want: rollback.SetWeight(5), short: "5"},
		"a weight in full":            {text: `{"setWeight":0}`, want: rollback.SetWeight(0), short: "0"},
		"a pause of a second":         {text: `"pause"`, want: rollback.PauseFor(time.Second), short: "pause 1s"},
		"a pause with its length":     {text: `"pause 1m30s"`, want: rollback.PauseFor(90 * time.Second), short: "pause 1m30s"},
		"a pause without end":         {text: `"pause forever"`, want: rollback.Step{Pause: &rollback.Pause{}}, short: "pause forever"},
		"a pause in full":             {text: `{"pause":{"duration":"2s"}}`, want: rollback.PauseFor(2 * time.Second), short: "pause 2s"},
		"a pause in full, endless":    {text: `{"pause":{}}`, want: rollback.Step{Pause: &rollback.Pause{}}, short: "pause forever"},
		"a canary scale":              {text: `{"setCanaryScale":{"replicas":3}}`, want: rollback.Step{SetCanaryScale: &rollback.CanaryScale{Replicas: &three}}, short: `scale {"replicas":3}`},
		"space around":                {text: " 5\n", want: rollback.SetWeight(5), short: "5"},
		"null":                        {text: `null`, err: `bad canary step null: expected ` + forms},
		"a fraction":                  {text: `1.5`, err: `bad canary step 1.5: expected ` + forms},
		"a list":                      {text: `[5]`, err: `bad canary step [5]: expected ` + forms},
		"a truth value":               {text: `true`, err: `bad canary step true: expected ` + forms},
		"an unknown word":             {text: `"wait"`, err: `bad canary step "wait": expected ` + forms},
		"a pause with a space only":   {text: `"pause "`, err: `bad canary step "pause ": expected ` + forms},
		"a pause of no length":        {text: `"pause 0s"`, err: `bad canary step "pause 0s": expected a duration above 0 with a unit, such as "2s", not "0s"`},
		"a pause without a unit":      {text: `"pause 5"`, err: `bad canary step "pause 5": expected a duration above 0 with a unit, such as "2s", not "5"`},
		"a pause back in time":        {text: `"pause -5s"`, err: `bad canary step "pause -5s": expected a duration above 0 with a unit, such as "2s", not "-5s"`},
		"nothing":                     {text: `{}`, err: `bad canary step {}: expected exactly one of setWeight, pause, setCanaryScale`},
		"two in one":                  {text: `{"setWeight":5,"pause":{}}`, err: `bad canary step {"setWeight":5,"pause":{}}: expected exactly one of setWeight, pause, setCanaryScale`},
		"an unknown field":            {text: `{"setWeigth":5}`, err: `bad canary step {"setWeigth":5}: unknown field "setWeigth" (expected ` + forms + `)`},
		"a duration that is a number": {text: `{"pause":{"duration":5}}`, err: `bad canary step {"pause":{"duration":5}}: a duration is text with a unit, such as "1s" or "500ms", not 5 (expected ` + forms + `)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got rollback.Step
			err := json.Unmarshal([]byte(c.text), &got)
			if c.err != "" {
				if fmt.Sprint(err) != c.err {
					t.Errorf("error\n got %v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) || got.String() != c.short {
				t.Errorf("got %s, want %s", got, c.short)
			}
		})
	}
}

func TestStepsSurviveJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := rollback.Steps(rapid.SliceOfN(rapid.Custom(step), 0, 6).Draw(rt, "steps"))
		raw, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		// Over steps that are there already, as over a scenario's defaults.
		got := rollback.DefaultParams().Steps
		if err := json.Unmarshal(raw, &got); err != nil {
			rt.Fatal(err)
		}
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			rt.Fatalf("%s became %s by way of %s", want, got, raw)
		}
	})
}

func TestExpectedTimeFollowsTheParameters(t *testing.T) {
	t.Parallel()
	base := rollback.DefaultParams()
	for name, c := range map[string]struct {
		change func(*rollback.Params)
		longer time.Duration
	}{
		"as it is":                    {func(*rollback.Params) {}, 0},
		"more pods":                   {func(p *rollback.Params) { p.Replicas += 5 }, 5 * time.Second},
		"a longer quiet period":       {func(p *rollback.Params) { p.Quiet *= 2 }, 10 * time.Second},
		"pauses, where they are kept": {func(p *rollback.Params) { p.RollbackWindow = 0 }, time.Second},
		"a longer delay":              {func(p *rollback.Params) { p.ScaleDownDelay = 30 }, 29 * time.Second},
	} {
		p := base
		c.change(&p)
		if got := p.Expected() - base.Expected(); got != c.longer {
			t.Errorf("%s: %s longer, want %s", name, got, c.longer)
		}
	}
}
