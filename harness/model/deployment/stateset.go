package deployment

// stateSet is a hash set of states: open addressing, at most half full. A state is never
// all ones, so its complement is never 0 and 0 marks a free slot.
type stateSet struct {
	slots []state
	count int
}

func newStateSet() stateSet { return stateSet{slots: make([]state, 1<<12)} }

// add reports whether s is new.
func (t *stateSet) add(s state) bool {
	if 2*t.count >= len(t.slots) {
		t.grow()
	}
	if !t.put(^s) {
		return false
	}
	t.count++
	return true
}

func (t *stateSet) put(key state) bool {
	mask := uint64(len(t.slots) - 1)
	i := uint64(key) * 0x9e3779b97f4a7c15
	for i = (i ^ i>>32) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if t.slots[i] == key {
			return false
		}
	}
	t.slots[i] = key
	return true
}

func (t *stateSet) grow() {
	old := t.slots
	t.slots = make([]state, 2*len(old))
	for _, key := range old {
		if key != 0 {
			t.put(key)
		}
	}
}
