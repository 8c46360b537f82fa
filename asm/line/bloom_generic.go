// SPDX-License-Identifier: Apache-2.0

package line

import "math/bits"

func testBloomGeneric(lines [][8]uint64, current, ahead *batch, n, rounds int) (missed uint64) {
	if ahead != current {
		touchLines(lines, ahead.offset[:])
	}
	salts := salts[:8*rounds]
	for i := range n {
		missed <<= 1
		if !hasBits(&lines[current.offset[i&63]/64], current.low[i&63], salts) {
			missed |= 1
		}
	}
	return missed
}

// hasBits stops at the first missing bit. In a filter that is worth its memory, most
// absent elements miss one of their first two bits.
func hasBits(line *[8]uint64, low uint64, salts []uint64) bool {
	for s, salt := range salts {
		if line[s%8]>>(low*salt>>58)&1 == 0 {
			return false
		}
	}
	return true
}

func testAndSetBloomGeneric(lines [][8]uint64, current, ahead *batch, n, rounds int) (missed, added uint64) {
	if ahead != current {
		touchLines(lines, ahead.offset[:])
	}
	salts := salts[:8*rounds]
	for i := range n {
		fresh := setBits(&lines[current.offset[i&63]/64], current.low[i&63], salts)
		missed = missed<<1 | isZero(isZero(fresh))
		added += fresh
	}
	return missed, added
}

// setBits sets an element's bits in its line and returns how many were clear. It first
// gathers the bits of a word, since a store for each bit would wait for the store before.
func setBits(line *[8]uint64, low uint64, salts []uint64) (fresh uint64) {
	first := (*[8]uint64)(salts)
	for w := range line {
		mask := uint64(1) << (low * first[w] >> 58)
		for s := w + 8; s < len(salts); s += 8 {
			mask |= 1 << (low * salts[s] >> 58)
		}
		fresh += uint64(bits.OnesCount64(mask &^ line[w]))
		line[w] |= mask
	}
	return fresh
}
