// SPDX-License-Identifier: Apache-2.0

package affinity

import (
	"math"

	"github.com/flowdedup/flowdedup/layout"
)

// cell is one cell of a line.
type cell struct {
	line *layout.Line
	at   uint // 0 to layout.AffinityCells - 1
}

// half returns the word of a cell's tag, or after layout.AffinityHomes that of its home,
// and where in the word it begins.
func (c cell) half() (word, shift uint) { return c.at & 1, c.at << 4 & 32 }

func (c cell) tag() uint32 {
	word, shift := c.half()
	return uint32(c.line[word] >> shift)
}

// home returns the home point.
func (c cell) home() uint32 {
	word, shift := c.half()
	return uint32(c.line[layout.AffinityHomes+word] >> shift)
}

// state returns the word that the cell has alone.
func (c cell) state() *uint64 { return &c.line[layout.AffinityStates+c.at&3] }

// misses returns the misses in a row.
func (c cell) misses() int {
	return int(*c.state() >> layout.AffinityMissShift & layout.AffinityMisses)
}

// time returns the time without its low bits.
func (c cell) time() int64 { return int64(*c.state() << layout.AffinityTimeShift) }

// fill makes a point the home of a conversation that was seen there.
func (c cell) fill(conversation uint64, home uint32, now int64) {
	word, shift := c.half()
	setHalf(&c.line[word], shift, uint32(conversation>>32))
	setHalf(&c.line[layout.AffinityHomes+word], shift, home)
	c.setRow(0, now)
}

func setHalf(word *uint64, shift uint, to uint32) {
	*word = *word&^(math.MaxUint32<<shift) | uint64(to)<<shift
}

// setRow sets the misses and the time.
func (c cell) setRow(misses int, time int64) { *c.state() = newRow(misses, time) }

// newRow returns a state.
func newRow(misses int, time int64) uint64 {
	return layout.AffinityPresent | uint64(misses)<<layout.AffinityMissShift | uint64(time)>>layout.AffinityTimeShift
}
