package mesh

// An entry is when something happens to a connection. It is void once the connection's
// stamp is another.
type entry struct {
	at    float64
	conn  int32
	stamp uint32
}

// A queue is a heap of four children each, by time: half as deep as a binary one, and four
// entries lie in one line of the cache.
type queue struct{ heap []entry }

func (q *queue) push(e entry) {
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if q.heap[parent].at <= e.at {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

// pop removes the first entry.
func (q *queue) pop() {
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.replace(e)
	}
}

// replace puts another entry in the place of the first.
func (q *queue) replace(e entry) {
	heap := q.heap
	i := 0
	for {
		child := 4*i + 1
		if child >= len(heap) {
			break
		}
		least, at := child, heap[child].at
		for c := child + 1; c < min(child+4, len(heap)); c++ {
			if heap[c].at < at {
				least, at = c, heap[c].at
			}
		}
		if e.at <= at {
			break
		}
		heap[i] = heap[least]
		i = least
	}
	heap[i] = e
}
