// SPDX-License-Identifier: Apache-2.0

package traits

import "math/bits"

// Mix hashes two words, by the folded product of wyhash.
func Mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return high ^ low ^ a
}
