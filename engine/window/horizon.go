// SPDX-License-Identifier: Apache-2.0

package window

import "github.com/flowdedup/flowdedup/layout"

const (
	// horizonParts is the number of parts that the last elements are counted in.
	horizonParts = 16
	// horizonMarks is room for the marks of these parts, and for the smaller parts of
	// filters that grew.
	horizonMarks = 2 * horizonParts
)

// horizon finds the time since which a filter has kept as many elements as it has lines. Back to
// this time it remembers with hardly any evictions: one line in 1,700 gets six elements.
type horizon struct {
	lines uint64 // lines of the filter
	kept  uint64 // elements kept in total
	marks [horizonMarks]horizonMark
	count int // number of marks, the oldest first
}

// horizonMark is the time of the stream at a number of kept elements.
type horizonMark struct {
	kept uint64
	time int64
}

// add records the time of the stream after kept further elements.
func (h *horizon) add(kept uint64, now int64) {
	h.kept += kept
	if h.count > 0 && h.kept-h.marks[h.count-1].kept < max(1, h.lines/horizonParts) {
		return
	}
	past := 0
	for past+1 < h.count && h.kept-h.marks[past+1].kept >= h.lines {
		past++
	}
	h.count = copy(h.marks[:], h.marks[past:h.count])
	if h.count == horizonMarks {
		for i := range horizonMarks / 2 {
			h.marks[i] = h.marks[2*i]
		}
		h.count = horizonMarks / 2
	}
	h.marks[h.count] = horizonMark{h.kept, now}
	h.count++
}

// since returns the time from which on the filter remembers, or layout.NoTick if it has
// kept so few elements that it remembers all.
func (h *horizon) since() int64 {
	if h.count == 0 || h.kept-h.marks[0].kept < h.lines {
		return layout.NoTick
	}
	return h.marks[0].time
}

// resume reports whether a horizon can have this state.
func (h *horizon) resume() bool {
	if h.count < 0 || h.count > horizonMarks {
		return false
	}
	before := uint64(0)
	for _, m := range h.marks[:h.count] {
		if m.kept < before || m.kept > h.kept {
			return false
		}
		before = m.kept
	}
	return true
}
