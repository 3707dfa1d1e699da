package report

// A predicted sequence has an order and no time. To draw it behind what was
// observed, each observed value is matched with the predicted one it fulfils.

// alignment of an observed sequence with a predicted one.
type alignment struct {
	// match holds for each observed value the index of the predicted one, or -1.
	match []int
	// missing lists predicted values that were not observed, with the number
	// of observed values before them.
	missing []missing
}

type missing struct{ predicted, after int }

// followed says whether observed is predicted, neither more nor less.
func (a alignment) followed() bool {
	for _, m := range a.match {
		if m < 0 {
			return false
		}
	}
	return len(a.missing) == 0
}

// cutShort says whether all that departs is that the end was not seen.
func (a alignment) cutShort() bool {
	for _, m := range a.match {
		if m < 0 {
			return false
		}
	}
	for _, m := range a.missing {
		if m.after < len(a.match) {
			return false
		}
	}
	return true
}

// maxAlign bounds the table of the longest common subsequence.
const maxAlign = 1 << 22

// align matches as much as can be matched in order (a longest common
// subsequence), so that one value too many does not make every later one look
// wrong. Sequences too long for that are matched from the start only.
func align(observed, predicted []float64) alignment {
	a := alignment{match: make([]int, len(observed))}
	next := common(observed, predicted)
	k := 0
	for i, v := range observed {
		a.match[i] = -1
		for k < len(predicted) && v != predicted[k] && next(i, k+1) >= next(i+1, k) && next(i, k+1) > 0 {
			a.missing = append(a.missing, missing{k, i})
			k++
		}
		if k < len(predicted) && v == predicted[k] {
			a.match[i] = k
			k++
		}
	}
	for ; k < len(predicted); k++ {
		a.missing = append(a.missing, missing{k, len(observed)})
	}
	return a
}

// common returns the length of the longest common subsequence of the tails
// observed[i:] and predicted[k:].
func common(observed, predicted []float64) func(i, k int) int {
	n, m := len(observed), len(predicted)
	if (n+1)*(m+1) > maxAlign {
		return func(int, int) int { return 0 }
	}
	table := make([]int32, (n+1)*(m+1))
	at := func(i, k int) int { return i*(m+1) + k }
	for i := n - 1; i >= 0; i-- {
		for k := m - 1; k >= 0; k-- {
			if observed[i] == predicted[k] {
				table[at(i, k)] = table[at(i+1, k+1)] + 1
				continue
			}
			table[at(i, k)] = max(table[at(i+1, k)], table[at(i, k+1)])
		}
	}
	return func(i, k int) int { return int(table[at(i, k)]) }
}
