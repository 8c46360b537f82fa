package affinity

import "github.com/flowdedup/flowdedup/layout"

// cell is one cell of a line: words at and at+1.
type cell struct {
	line *layout.Line
	at   int
}

// home returns the home point.
func (c cell) home() uint32 { return uint32(c.line[c.at]) }

// misses returns the misses in a row.
func (c cell) misses() int {
	return int(c.line[c.at+1] >> layout.AffinityMissShift & layout.AffinityMisses)
}

// time returns the time without its low bits.
func (c cell) time() int64 { return int64(c.line[c.at+1] << layout.AffinityTimeShift) }

// fill makes a point the home of a conversation that was seen there.
func (c cell) fill(conversation uint64, home uint32, now int64) {
	c.line[c.at] = conversation>>32<<32 | uint64(home)
	c.setRow(0, now)
}

// setRow sets the misses and the time.
func (c cell) setRow(misses int, time int64) { c.line[c.at+1] = newRow(misses, time) }

// newRow returns an odd word.
func newRow(misses int, time int64) uint64 {
	return layout.AffinityPresent | uint64(misses)<<layout.AffinityMissShift | uint64(time)>>layout.AffinityTimeShift
}
