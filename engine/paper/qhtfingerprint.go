package paper

import "math/bits"

// EmptyCells says how a filter of fingerprints tells empty cells from used
// ones when the cells are plain words that start as zero: the three options of
// paper "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming
// Data" (Géraud, Lombard-Platet, Naccache, SAC 2019), section 3.2. S, the
// number of fingerprints, follows from it and the cell's s bits.
type EmptyCells uint8

const (
	// EmptyRehashed is the third option, the paper's choice and the one that its
	// tables were made with: an element whose fingerprint is 0 gets another one
	// from the next hash function, until it is not 0. S is 2^s - 1, and all
	// fingerprints are equally likely.
	EmptyRehashed EmptyCells = iota
	// EmptyReassigned is the second option: fingerprint 0 becomes 1. S is
	// 2^s - 1, but 1 is twice as likely as any other fingerprint.
	EmptyReassigned
	// EmptyShared is the first option: 0 is a fingerprint like any other, so an
	// element that has it is reported a duplicate by every row with an empty
	// cell. S is 2^s. Reading taken: a cell that holds the fingerprint 0 cannot
	// be told from an empty one, so it is the next to be filled.
	EmptyShared
)

// fingerprints makes the fingerprints of width bits that go into cells.
type fingerprints struct {
	width int
	empty EmptyCells
}

// count returns S.
func (f fingerprints) count() int {
	if f.empty == EmptyShared {
		return 1 << f.width
	}
	return 1<<f.width - 1
}

// of returns the fingerprint of an element, of whose digest x is element 0.
func (f fingerprints) of(x uint64) uint64 {
	mask := uint64(1)<<f.width - 1
	value := x & mask
	if value != 0 || f.empty == EmptyShared {
		return value
	}
	if f.empty == EmptyReassigned {
		return 1
	}
	for i := uint64(1); value == 0; i++ {
		value = rehash(x, i) & mask
	}
	return value
}

// rehash returns value number i of a sequence that x determines: SplitMix64
// (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA
// 2014). Every 64-bit value occurs in the sequence.
func rehash(x, i uint64) uint64 {
	x += i * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// floorPowerOfTwo returns the largest power of two that is n at most; n is 1 at
// least.
func floorPowerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
