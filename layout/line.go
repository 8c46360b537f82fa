// SPDX-License-Identifier: Apache-2.0

package layout

// A line is 64 bytes: eight words of 64 bits, each in the byte order of the machine. Bit
// b of a line is bit b%64 of word b/64, counted from the lowest one.
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
// one. It is an alias, so users can make lines of their own.
type Line = [8]uint64
