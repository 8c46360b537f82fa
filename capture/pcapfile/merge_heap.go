// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// mergeHeap holds inputs that have something to deliver. The next input is on top.
type mergeHeap []*mergeInput

// limit returns the latest time at which the input on top still comes before all others.
func (h mergeHeap) limit() int64 {
	if len(h) == 1 {
		return math.MaxInt64
	}
	next := h[1]
	if len(h) > 2 && h[2].before(next) {
		next = h[2]
	}
	if h[0].index < next.index {
		return next.key
	}
	return next.key - 1 // no underflow: the top is before next, so next has a time
}

// deliver delivers from the input on top the packets before all others and not after until. It
// reports whether the input has nothing more; it is no longer in the heap then.
func (h *mergeHeap) deliver(b *capture.Batch, until int64) (in *mergeInput, drained bool) {
	in = (*h)[0]
	in.run(b, min(h.limit(), until))
	if in.setKey() {
		h.siftDown(0)
		return in, false
	}
	h.pop()
	return in, true
}

// push adds an input.
func (h *mergeHeap) push(in *mergeInput) {
	*h = append(*h, in)
	all := *h
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if all[parent].before(all[i]) {
			return
		}
		all[parent], all[i] = all[i], all[parent]
		i = parent
	}
}

// pop removes the input on top.
func (h *mergeHeap) pop() {
	all := *h
	last := len(all) - 1
	all[0] = all[last]
	all[last] = nil
	*h = all[:last]
	h.siftDown(0)
}

// siftDown restores the heap below i after the key there has changed.
func (h mergeHeap) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if h[i].before(h[child]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// lastTime returns the time of the last frame of the batch.
func (in *mergeInput) lastTime() int64 {
	if n := len(in.batch.Frames); n > 0 {
		return in.batch.Frames[n-1].Time
	}
	return capture.NoTime
}
