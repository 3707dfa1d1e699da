package argorollouts

import (
	"slices"
	"testing"
)

func TestControllersAreToldApartAndElectWhereThereAreSeveral(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config    Config
		log, flag string
	}{
		"the only one":     {Config{Version: "v1.9.2"}, "argo-rollouts.log", "--leader-elect=false"},
		"the first of two": {Config{Version: "v1.9.2", Elect: true, Number: 1}, "argo-rollouts.log", "--leader-elect=true"},
		"the second":       {Config{Version: "v1.9.2", Elect: true, Number: 2}, "argo-rollouts-2.log", "--leader-elect=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.config.logName(); got != c.log {
				t.Errorf("the log is %s, want %s", got, c.log)
			}
			if args := c.config.args(); !slices.Contains(args, c.flag) {
				t.Errorf("arguments %q, want %s", args, c.flag)
			}
		})
	}
}
