package line

import "github.com/flowdedup/flowdedup/layout"

// testAndSetCoarseBatchGeneric looks up the n elements of current.
func testAndSetCoarseBatchGeneric(lines []layout.Line, current *batch, n int, r *coarseRule) (near, found, taken uint64) {
	touchLines(lines, current.offset[:n])
	for i := range n {
		element := current.low[i&63]
		isNear, isFound, isTaken := r.testAndSet(&lines[current.offset[i&63]/64], uint32(element), uint32(element>>32))
		near, found, taken = near<<1|isNear, found<<1|isFound, taken<<1|isTaken
	}
	return near, found, taken
}

// testAndSet looks up one element, whose cell has age 255.
func (r *coarseRule) testAndSet(line *[8]uint64, cell, tick uint32) (near, found, taken uint64) {
	const last = layout.CoarseCells - 1
	clock := uint32(line[7] >> 32)
	late, passed := clock-tick, uint32(0)
	if uint64(late) >= r.tooLate {
		late, passed, clock = 0, min(tick-clock, layout.CoarseOld), tick
	}
	var cells [layout.CoarseCells]uint32
	at := last
	for j := last; j >= 0; j-- {
		old := uint32(line[j/2] >> (j % 2 * 32))
		age := min(old&layout.CoarseOld+passed, layout.CoarseOld)
		cells[j] = old&^layout.CoarseOld | age
		if (old^cell)>>8 == 0 {
			at, found = j, 1
		}
	}
	age := cells[at] & layout.CoarseOld
	if uint64(age-late+uint32(r.window)) < r.above {
		near = 1
	}
	if cells[at] > layout.CoarseOld {
		taken = 1
	}
	isCopy := near&found != 0
	if isCopy && r.refresh {
		late = min(late, age)
	}
	if !isCopy || r.refresh {
		copy(cells[1:at+1], cells[:at])
		cells[0] = cell ^ layout.CoarseOld ^ late
	}
	for j := range 7 {
		line[j] = uint64(cells[2*j]) | uint64(cells[2*j+1])<<32
	}
	line[7] = uint64(cells[last]) | uint64(clock)<<32
	return near, found, taken
}
