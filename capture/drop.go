// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"math"
	"math/bits"
)

// A drop bitmap says which frames of a batch to leave out: bit i%64 of word i/64 is frame
// i. A nil bitmap keeps all.

// IsSet returns bit i of a bitmap. An empty bitmap has no bit set.
func IsSet(bitmap []uint64, i int) bool {
	return len(bitmap) > 0 && bitmap[uint(i)/64]>>(uint(i)%64)&1 != 0
}

// SetBit sets bit i of a bitmap.
func SetBit(bitmap []uint64, i int) { bitmap[uint(i)/64] |= 1 << (uint(i) % 64) }

// CheckDrop panics if drop is not nil and too short for b. Write of each Writer calls it
// first.
func CheckDrop(b *Batch, drop []uint64) {
	if need := (len(b.Frames) + 63) / 64; drop != nil && len(drop) < need {
		panic(fmt.Sprintf("capture: Write: %d words in drop for %d frames", len(drop), len(b.Frames)))
	}
}

// Complement returns the bitmap that drops the frames that drop keeps among n, so the two
// split a batch. It reuses dst if that is long enough; dst and drop may be the same slice.
// Bits from n on are 0. A nil drop keeps all, so its complement drops all.
func Complement(dst, drop []uint64, n int) []uint64 {
	words := (n + 63) / 64
	if cap(dst) < words {
		dst = make([]uint64, words)
	}
	dst = dst[:words]
	for i := range dst {
		var dropped uint64
		if drop != nil {
			dropped = drop[i]
		}
		dst[i] = ^dropped
	}
	if n%64 != 0 {
		dst[words-1] &= 1<<(n%64) - 1
	}
	return dst
}

// NextRun returns the first run lo..hi-1 of kept frames in pos..end-1. If there is none,
// lo is end.
func NextRun(drop []uint64, pos, end int) (lo, hi int) {
	if drop == nil {
		return pos, end
	}
	lo = nextBit(drop, ^uint64(0), pos, end)
	return lo, nextBit(drop, 0, lo, end)
}

// nextBit returns the first position from pos on whose bit, XOR flip, is 1, or end. It
// tests a word at a time.
func nextBit(words []uint64, flip uint64, pos, end int) int {
	for pos < end {
		if w := (words[pos>>6] ^ flip) >> (pos & 63); w != 0 {
			return min(pos+bits.TrailingZeros64(w), end)
		}
		pos = (pos | 63) + 1
	}
	return end
}

// CountKept counts the frames of lo..hi-1 that drop keeps.
func CountKept(drop []uint64, lo, hi int) uint64 {
	n := hi - lo
	if drop == nil || n == 0 {
		return uint64(n)
	}
	first, last := lo>>6, (hi-1)>>6
	for w := first; w <= last; w++ {
		word := drop[w]
		if w == first {
			word &= math.MaxUint64 << (lo & 63)
		}
		if w == last {
			word &= math.MaxUint64 >> (63 - (hi-1)&63)
		}
		n -= bits.OnesCount64(word)
	}
	return uint64(n)
}
