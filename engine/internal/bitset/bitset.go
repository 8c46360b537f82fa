// SPDX-License-Identifier: Apache-2.0

// Package bitset has operations on bits in words, for verdicts.
package bitset

// Or ors the first n bits of src into dst from bit at on. The other bits of src must be
// clear.
func Or(dst []uint64, at int, src []uint64, n int) {
	shift := uint(at) % 64
	for i := range (n + 63) / 64 {
		word := src[i]
		dst[at/64+i] |= word << shift
		// The upper part may fall beyond n, and then beyond dst: it is empty.
		if high := word >> (64 - shift); shift != 0 && high != 0 {
			dst[at/64+i+1] |= high
		}
	}
}

// Clear clears the words that n bits cover, and panics if there are fewer.
func Clear(seen []uint64, n int) {
	words := (n + 63) / 64
	if len(seen) < words {
		panic("bitset: seen holds fewer bits than there are elements")
	}
	clear(seen[:words])
}

// LowBits returns a word with only the lowest n bits set.
func LowBits(n int) uint64 { return ^(^uint64(0) << min(max(n, 0), 64)) }
