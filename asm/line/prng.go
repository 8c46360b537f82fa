// SPDX-License-Identifier: Apache-2.0

package line

import "github.com/flowdedup/flowdedup/asm/internal/splitmix"

// Multipliers of prng: 2^64 over the golden ratio, and that of Jon Maiga's mixer mx3.
// golden also spreads the numbers of eras.
const (
	golden  = splitmix.Golden
	prngMix = 0xbea225f9eb34556d
)

// prng returns the random word r1 of an element: the first two rounds of mx3 over the low
// half of its digest, digest[0], and its position in the stream. prngNext returns r2:
//
//	x  = low ^ position * 0x9e3779b97f4a7c15
//	x  = (x ^ x>>32) * 0xbea225f9eb34556d
//	x  = (x ^ x>>29) * 0xbea225f9eb34556d
//	r1 = x ^ x>>32
//	r2 = r1 * 0xbea225f9eb34556d, r2 = r2 ^ r2>>29
//
// all modulo 2^64. Filters have no other source of chance. So what they do depends on the
// stream alone: not on how it is cut into calls, on the worker that takes an element, or
// on the machine.
func prng(low, position uint64) uint64 {
	x := low ^ position*golden
	x = (x ^ x>>32) * prngMix
	x = (x ^ x>>29) * prngMix
	return x ^ x>>32
}

// prngNext returns r2 from r1: the third and last round of mx3.
func prngNext(r1 uint64) uint64 {
	x := r1 * prngMix
	return x ^ x>>29
}
