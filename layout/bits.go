// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math/bits"
	"slices"
)

// A line of a blocked Bloom filter is 512 bits. An element owns one bit of each word in
// each round: 8 bits with one round, 64 with eight. Apache Parquet lays out its split
// block Bloom filters so, with lines of 256 bits.
//
//	word     0       1       2       3       4       5       6       7
//	     ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	     │··1····│·····1·│1······│···1···│······1│··1····│1······│····1··│ one element, 1 round
//	     └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//
// A line has no fixed capacity: the more elements share it, the more others look seen.
// engine/theory computes the false positive rate.

// MaxBloomRounds is the most rounds that an element can have.
const MaxBloomRounds = 8

// A line of a stable Bloom filter of bits is divided into K parts of s = floor(512/K)
// bits. Part j begins at bit j*s. An element owns one bit of each part.
//
//	K = 2    ┌───────────────────────────────┬───────────────────────────────┐
//	s = 256  │ part 0: 1 bit of an element   │ part 1: 1 bit of an element   │
//	         └───────────────────────────────┴───────────────────────────────┘
//	bit      0                               256                           511
//
//	K = 3    ┌────────────────────┬────────────────────┬────────────────────┬┐
//	s = 170  │ part 0             │ part 1             │ part 2             ││
//	         └────────────────────┴────────────────────┴────────────────────┴┘
//	bit      0                    170                  340              510, 511 unused
//
// A line has no fixed capacity: new elements clear bits of old elements.
const (
	// MaxStableParts is the most parts of a line. Each takes 16 of the 64 bits of a
	// digest's low half.
	MaxStableParts = 4
	// MaxStableRun is the most adjacent bits that the method StableSBF of asm/line
	// clears for an element.
	MaxStableRun = 64
)

// A line of a stable Bloom filter of cells has N = 256 cells of 2 bits or N = 128 cells
// of 4 bits. The bits of a cell are apart: plane p, of N bits, has bit p of all cells. A
// step that is the same for all cells, such as a decrement, then takes few operations on
// narrow registers.
//
//	2 bits  word     0       1       2       3       4       5       6       7
//	             ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	             │ plane 0: low bits of 256 cells│ plane 1: high bits            │
//	             └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//	4 bits       ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	             │ plane 0       │ plane 1       │ plane 2       │ plane 3       │
//	             └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//
// A plane is divided into eight parts of N/8 cells, the eighths of the line: eighth e
// begins at bit e*N/8 of each plane. An element owns at most one cell in each eighth.
// Cell value 0 is empty. A line has no fixed capacity: new elements decrement the cells
// of old elements.

// MaxCellK is the most cells, or timers, that an element owns: one in each eighth.
const MaxCellK = 8

// A line of timers has 64 timers of 8 bits or 32 timers of 16 bits. Timer c of b bits is
// bits b*c to b*c+b-1 of the line, so each eighth of the line is a word. An element owns
// at most one timer in each word, and MaxCellK in all.
//
//	word     0                          1                        7
//	     ┌──┬──┬──┬──┬──┬──┬──┬──┬──┬──┬──┬──    ──┬──┬──┬──┬──┬──┬──┬──┐
//	8    │ 0│ 1│ 2│ 3│ 4│ 5│ 6│ 7│ 8│ 9│10│   …   │56│57│58│59│60│61│62│63│
//	     └──┴──┴──┴──┴──┴──┴──┴──┴──┴──┴──┴──    ──┴──┴──┴──┴──┴──┴──┴──┘
//	     ┌─────┬─────┬─────┬─────┬─────┬─────    ──┬─────┬─────┬─────┬─────┐
//	16   │  0  │  1  │  2  │  3  │  4  │     …     │ 28  │ 29  │ 30  │ 31  │
//	     └─────┴─────┴─────┴─────┴─────┴─────    ──┴─────┴─────┴─────┴─────┘
//
// A timer that was set at tick t holds 1 + t mod (2^b - 1). It holds 0 when it was never
// set, and after a sweep that finds it expired.

// Positions fills pos with the values of len(pos) hash functions of range [0,m) that are
// independent of each other, as sliced filters need them. With double hashing, one in some hundred
// elements has all its bits close together or at regular distances. In one array this is harmless.
// In slices, failed slices have all of such bits far more often than by chance.
func Positions(pos []uint64, digest [2]uint64, m uint64) {
	state := digest[1]
	for i := range pos {
		pos[i], _ = bits.Mul64(Mix(digest[0]^SplitMix(&state)), m)
	}
}

// DiceVertical moves an element's positions to the inner slices of a v-h diced filter. size is the
// size of an inner slice; each vertical slice has inner slices. The first position in a vertical slice
// selects the inner slice that takes all positions there.
func DiceVertical(pos []uint64, size uint64, inner int) {
	outer := size * uint64(inner)
	for i, p := range pos {
		first := slices.IndexFunc(pos, func(other uint64) bool { return other/outer == p/outer })
		chosen := pos[first] / size
		pos[i] = chosen*size + p%size
	}
}

// EqualGroup returns the size of the largest group of equal timers among an element's
// timers, which it sorts, or 0 if a timer is zero at present. A timer is given by the unit in
// which it reaches zero, so timers are equal if their units are. It takes O(k log k).
func EqualGroup(zeroAt []uint64, now uint64) (largest int) {
	slices.Sort(zeroAt)
	group := 0
	for j, unit := range zeroAt {
		if unit <= now {
			return 0
		}
		if j == 0 || unit != zeroAt[j-1] {
			group = 0
		}
		group++
		largest = max(largest, group)
	}
	return largest
}
