// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// askSpare handles the elements of a batch that may concern spare lines. The kernel took
// all elements as if there were none. Where this was wrong for later elements of the same
// line, the line is restored to its state after this element, and they are taken once
// more, each at its turn. It returns the final results; it counts the elements that are
// taken once more itself.
func (b *timedBatch) askSpare(s *spareRows, offsets *[64]uint64, n int, found timedFound) timedFound {
	s.touchSpare(offsets, found.spare)
	again := uint64(0)
	for todo := found.spare; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo) & 63
		bit := uint64(1) << i
		number, cell, mark := offsets[i]/64, b.cell[i], b.mark[i]
		if again&bit != 0 {
			found.new &^= bit
			found.copies = found.copies&^bit | s.testAndSet(number, cell, mark)<<i
			continue
		}
		line, spare, before := &s.Lines[number], s.spareOf(number, s.part), &b.before[i]
		spilled := before[7]
		v := s.rule.survey(before, spare, cell, mark)
		at := s.ask(before, spare, &v)
		if at == layout.TimedCells {
			s.pushOut(before, spare, &v, at, mark)
			if spilled ^= before[7]; spilled == 0 {
				continue // the line is as the kernel left it
			}
		}
		later := sameLine(offsets, offsets[i]) & (1<<n - 1) &^ (bit<<1 - 1)
		again |= later
		todo |= later
		switch {
		case at < layout.TimedCells:
			*line = *before
			found.new &^= bit
			found.copies |= s.take(line, spare, &v, at, cell, mark) << i
		case later == 0:
			line[7] ^= spilled
		default:
			*line = *before
			s.rule.move(line, at, cell, mark)
		}
	}
	return found
}

// touchSpare loads the spare lines of some elements, so that all cache misses run at the
// same time. It must not be inlined: the compiler would remove loads without a use.
//
//go:noinline
func (s *spareRows) touchSpare(offsets *[64]uint64, which uint64) (sum uint64) {
	spare, part := s.Spare, s.part
	for ; which != 0; which &= which - 1 {
		at, _ := bits.Mul64(offsets[bits.TrailingZeros64(which)&63]/64, part)
		sum += spare[at][0]
	}
	return sum
}

// sameLineGeneric returns a bit for each of offsets that equals offset.
func sameLineGeneric(offsets *[64]uint64, offset uint64) (same uint64) {
	for i := range offsets {
		_, differs := bits.Sub64(0, offsets[i]^offset, 0)
		same |= (1 - differs) << i
	}
	return same
}
