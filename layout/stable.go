// SPDX-License-Identifier: Apache-2.0

package layout

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
// A line has no fixed capacity: new elements clear bits of old ones.
const (
	// MaxStableParts is the most parts of a line. Each takes 16 of the 64 bits of a
	// digest's low half.
	MaxStableParts = 4
	// MaxStableRun is the most adjacent bits that the method StableSBF of asm/line
	// clears for an element.
	MaxStableRun = 64
)
