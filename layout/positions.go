// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math/bits"
	"slices"
)

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
