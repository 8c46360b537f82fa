package workload

// pending is a heap of frames that follow later, the earliest first; equal
// times keep the order in which they were added.
type pending struct {
	heap  []delayed
	added uint64
}

type delayed struct {
	time   int64
	order  uint64
	packet packet
}

func (d *delayed) before(other *delayed) bool {
	if d.time != other.time {
		return d.time < other.time
	}
	return d.order < other.order
}

// due reports whether a frame has to go out at or before now.
func (q *pending) due(now int64) bool {
	return len(q.heap) > 0 && q.heap[0].time <= now
}

func (q *pending) add(time int64, p packet) {
	q.heap = append(q.heap, delayed{time, q.added, p})
	q.added++
	child := len(q.heap) - 1
	for child > 0 {
		parent := (child - 1) / 2
		if !q.heap[child].before(&q.heap[parent]) {
			return
		}
		q.heap[child], q.heap[parent] = q.heap[parent], q.heap[child]
		child = parent
	}
}

// take removes and returns the earliest frame; the heap must not be empty.
func (q *pending) take() delayed {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	parent := 0
	for {
		child := 2*parent + 1
		if child >= last {
			return first
		}
		if child+1 < last && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&q.heap[parent]) {
			return first
		}
		q.heap[child], q.heap[parent] = q.heap[parent], q.heap[child]
		parent = child
	}
}
