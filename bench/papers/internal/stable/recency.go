package stable

import "math/bits"

// recency keeps elements in the order of their last use: a Fenwick tree (Fenwick,
// 1994) over times that counts those at which an element was used last. Each
// operation takes time logarithmic in the number of times.
type recency struct {
	tree   []uint32 // tree[i] counts the times from i-(i&-i)+1 to i, i from 1
	live   int      // elements
	atTime []uint32 // the element used at a time
	last   []uint32 // the time at which an element was used last, plus 1
}

// newRecency returns an empty order for up to n uses.
func newRecency(n int) *recency {
	size := 1 << bits.Len(uint(n))
	return &recency{tree: make([]uint32, size+1), atTime: make([]uint32, 0, n)}
}

// add uses a new element, whose number is that of the elements so far.
func (r *recency) add() (element uint32) {
	element = uint32(len(r.last))
	r.last = append(r.last, 0)
	r.live++
	r.stamp(element)
	return element
}

// use uses the element of a stack distance, from 1 to the number of elements: the
// distance counts the elements used since, and itself.
func (r *recency) use(distance int) (element uint32) {
	element = r.atTime[r.find(r.live-distance+1)]
	r.count(int(r.last[element]), ^uint32(0))
	r.stamp(element)
	return element
}

func (r *recency) stamp(element uint32) {
	r.atTime = append(r.atTime, element)
	r.last[element] = uint32(len(r.atTime))
	r.count(len(r.atTime), 1)
}

// count adds to the count of a time, given plus 1.
func (r *recency) count(i int, change uint32) {
	for ; i < len(r.tree); i += i & -i {
		r.tree[i] += change
	}
}

// find returns the time of the element that is number rank from 1, oldest first.
func (r *recency) find(rank int) (time int) {
	for step := len(r.tree) / 2; step > 0; step /= 2 {
		if next := time + step; next < len(r.tree) && int(r.tree[next]) < rank {
			time, rank = next, rank-int(r.tree[next])
		}
	}
	return time
}
