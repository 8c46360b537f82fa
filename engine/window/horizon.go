// SPDX-License-Identifier: Apache-2.0

package window

import "github.com/flowdedup/flowdedup/layout"

const (
	// horizonParts is how many parts the last elements are counted in.
	horizonParts = 16
	// horizonMarks is room for the marks of these parts, and for those of the smaller
	// parts of filters that grew.
	horizonMarks = 2 * horizonParts
)

// horizon tells how far back a filter remembers without effort: to the time when as many
// elements had been kept less as it has lines. Of so many elements, one line in 1,700 gets
// six.
type horizon struct {
	lines uint64 // of the filter
	kept  uint64 // in all
	marks [horizonMarks]horizonMark
	count int // of marks, the oldest first
}

// horizonMark is the time of the stream when so many elements had been kept.
type horizonMark struct {
	kept uint64
	time int64
}

// add notes that the stream had reached a time when so many more elements were kept.
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

// since returns the time since when the filter remembers, or layout.NoTick where so few
// elements were kept that it remembers all.
func (h *horizon) since() int64 {
	if h.count == 0 || h.kept-h.marks[0].kept < h.lines {
		return layout.NoTick
	}
	return h.marks[0].time
}

// resume reports whether a horizon can be like this.
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
