// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"slices"

	"github.com/flowdedup/flowdedup/layout"
)

// places find the positions of elements' bits or timers in their chain.
type places struct {
	k     int
	size  uint64 // of a link
	all   uint64 // of the chain
	inner int    // parts of a vertical slice, 0 if it is not cut
}

func newPlaces(s Shape) places {
	p := places{k: s.Hashes, size: uint64(s.Size())}
	p.all = p.size * uint64(s.Links())
	if s.Layout == VH {
		p.inner = s.H
	}
	return p
}

// of fills pos with the positions of an element: as engine/paper's filters choose them
// for a digest whose upper word is 0.
func (p *places) of(pos []uint64, element uint64) {
	layout.Positions(pos, [2]uint64{element}, p.all)
	if p.inner > 1 {
		layout.DiceVertical(pos, p.size, p.inner)
	}
}

// each calls f for blocks of elements, with their positions, k for each element.
func (p *places) each(buffer []uint64, elements []uint64, f func(from int, pos []uint64)) []uint64 {
	for from := 0; from < len(elements); from += ahead {
		block := elements[from:min(from+ahead, len(elements))]
		buffer = slices.Grow(buffer[:0], len(block)*p.k)[:len(block)*p.k]
		for i, d := range block {
			p.of(buffer[i*p.k:(i+1)*p.k], d)
		}
		f(from, buffer)
	}
	return buffer
}

// ahead is the number of elements whose memory is read before the first of them is
// tested, so that their cache misses overlap.
const ahead = 64
