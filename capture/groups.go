// SPDX-License-Identifier: Apache-2.0

package capture

import "iter"

// GroupSize is how many packets a task decodes and digests at a time. The arrays in between
// then stay in the first-level cache. It is a multiple of 64, so no two groups share a word of
// a bitmap.
const GroupSize = 512

// Groups iterates over the packets of b in groups of GroupSize, of which the last may be
// smaller: packets from to to-1.
func (b *Batch) Groups() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		n := len(b.Frames)
		for from := 0; from < n; from += GroupSize {
			if !yield(from, min(from+GroupSize, n)) {
				return
			}
		}
	}
}

// Resize returns s with n elements of no particular values. It allocates only where s has less
// capacity, and then some more than n.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
