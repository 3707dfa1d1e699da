package campaign

import (
	"fmt"
	"strconv"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

// Key is an answer key in short: runs that were judged by different ones are no
// rows of one table.
type Key struct {
	Model string `json:"model"`
	// Claims are what was predicted, by id.
	Claims map[string]string `json:"claims"`
	// Guards are the limits and the predicted worst values, by id.
	Guards map[string]string `json:"guards,omitempty"`
}

// KeyOf is today's answer key of a cell.
func KeyOf(c plan.Cell) (Key, error) {
	s, params, err := c.Load()
	if err != nil {
		return Key{}, err
	}
	p, err := s.Predict(scenario.Input{Params: params, Versions: plan.ModelVersions(c.Versions), On: cluster.Offered(c.Provider), Guards: c.Guards})
	if err != nil {
		return Key{}, fmt.Errorf("predicting cell %s: %w", c.Name, err)
	}
	return keyOf(p), nil
}

func keyOf(p judge.Prediction) Key {
	k := Key{Model: p.Model, Claims: map[string]string{}, Guards: map[string]string{}}
	for _, c := range p.Claims {
		k.Claims[c.ID] = c.Check.Predicted()
	}
	for _, g := range p.Guards {
		worst := "no value"
		if g.Expected != nil {
			worst = number(*g.Expected)
		}
		k.Guards[g.ID] = fmt.Sprintf("limit %s, worst %s", number(g.Limit), worst)
	}
	return k
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
