// SPDX-License-Identifier: Apache-2.0

// Package layout shows the data: the memory of the filters, and each kind of line with a
// picture of its bits, its capacity and its constants:
//
//	kind of line                                   file
//	any line: 64 bytes, eight words                line.go
//	rows of fingerprints                           rows.go
//	exact rows of 32-bit words, digests, bitmaps   rows.go
//	timed rows: fingerprint, point and time        rows.go
//	coarse and fine rows: fingerprint and age      rows.go
//	sliding rows: part of a digest, and a date     rows.go
//	bits of a blocked Bloom filter                 bits.go
//	bits of a stable Bloom filter                  bits.go
//	cells of a stable Bloom filter                 bits.go
//	timers of a sliding Bloom filter               bits.go
//	homes of conversations                         conversations.go
//	owners of flows, and when they reported        conversations.go
//
// Memory for lines, on huge pages, is an [Arena] (arena.go). [Caches] and [Budget] return
// the sizes of caches, [MemoryBudget] and [MemoryAvailable] the sizes of memory
// (memory.go). Only [NewArena] fails, with [ErrArenaSize] or the refusal of the system.
//
// The package decides nothing about duplicates and has no kernels. Package asm/line reads
// and writes lines.
package layout

// A line is 64 bytes: eight words of 64 bits, each in the byte order of the machine. Bit
// b of a line is bit b%64 of word b/64, counted from the lowest bit.
//
//	word     0       1       2       3       4       5       6       7
//	     ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	     │ 64    │ 64    │ 64    │ 64    │ 64    │ 64    │ 64    │ 64    │ bits
//	     └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//	bit  0       64      128     192     256     320     384     448   511

// LineSize is the size of a line in bytes: one cache line of the CPUs that have kernels,
// and one vector of 512 bits.
const LineSize = 64

// LineBits is the number of bits in a line.
const LineBits = 8 * LineSize

// Line is the unit of memory of all filters: everything that an element touches lies in
// a line. It is an alias, so users can make lines of their own.
type Line = [8]uint64

// Golden is 2^64 over the golden ratio: the step of SplitMix64.
const Golden = 0x9e3779b97f4a7c15

// SplitMix advances the state of the generator SplitMix64 (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014), and returns its next output.
func SplitMix(state *uint64) uint64 {
	*state += Golden
	return Mix(*state)
}

// Mix is a bijection whose results look random: the finalizer of SplitMix64. 0 stays 0.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
