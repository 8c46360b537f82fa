package capture

// before orders inputs by the time of what they deliver next, then by the
// order in which they were given.
func (in *mergeInput) before(other *mergeInput) bool {
	if in.key != other.key {
		return in.key < other.key
	}
	return in.index < other.index
}

// push adds an input to the heap.
func (m *merger) push(in *mergeInput) {
	m.heap = append(m.heap, in)
	for i := len(m.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if m.heap[parent].before(m.heap[i]) {
			return
		}
		m.heap[parent], m.heap[i] = m.heap[i], m.heap[parent]
		i = parent
	}
}

// pop removes the input on top.
func (m *merger) pop() {
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap[last] = nil
	m.heap = m.heap[:last]
	m.siftDown(0)
}

// siftDown restores the heap below i after the key there has changed.
func (m *merger) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if right := child + 1; right < len(m.heap) && m.heap[right].before(m.heap[child]) {
			child = right
		}
		if m.heap[i].before(m.heap[child]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}
