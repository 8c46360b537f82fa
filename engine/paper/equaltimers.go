package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"slices"
)

// largestGroup is [TimerBloom.EqualTimers] in the present. Timers are equal if they
// reach zero in the same unit.
func (b *TimerBloom) largestGroup(d digest.Digest) (largest int) {
	positions(b.pos, d, uint64(len(b.timers.zeroAt)))
	for j, i := range b.pos {
		if b.timers.isZero(i) {
			return 0
		}
		b.pos[j] = b.timers.zeroAt[i]
	}
	slices.Sort(b.pos)
	group := 0
	for j, zeroAt := range b.pos {
		if j == 0 || zeroAt != b.pos[j-1] {
			group = 0
		}
		group++
		largest = max(largest, group)
	}
	return largest
}
