// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// bloomSalts has the multipliers of bits. Kernels load half of its last word along with
// the last multipliers.
type bloomSalts [8*layout.MaxBloomRounds + 1]uint64

// salts has the odd multiplier of each word and round: entry 8*j+w is for word w in round
// j. They are the outputs of SplitMix64 from state 0, made odd. Any fixed random numbers
// would do, since digests are keyed.
var salts = func() (salts bloomSalts) {
	var state uint64
	for i := range 8 * layout.MaxBloomRounds {
		salts[i] = layout.SplitMix(&state) | 1
	}
	return salts
}()

// TestBloom looks up digests in a blocked Bloom filter (layout/bits.go). Element d lies
// in line floor(d[1]*len(lines)/2^64). In round j it owns bit (d[0]*salt[8j+w]) >> 58 of
// each word w, modulo 2^64. It is seen if all its 8*rounds bits are set.
//
// TestBloom sets bit i of seen if digests[i] is found. It leaves bits that are already
// set, and does not look up their elements. So calls with the same bits, cleared at
// first, search several filters in sequence.
//
// It takes constant time for each element and round and does not allocate. It panics if
// lines is empty, rounds is not 1 to MaxBloomRounds, or seen has fewer than len(digests)
// bits.
func TestBloom(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) {
	checkBloomArguments(lines, seen, digests, rounds)
	lookUpBloom(lines, seen, digests, rounds, false)
}

// TestAndSetBloom does TestBloom, in stream order, and sets the bits of each element that
// it does not find. So later equal elements of the same call are found. It returns how
// many bits of the filter it set that were clear. It skips elements whose bit in seen was
// set before the call. It panics as TestBloom does.
func TestAndSetBloom(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) (added uint64) {
	checkBloomArguments(lines, seen, digests, rounds)
	return lookUpBloom(lines, seen, digests, rounds, true)
}

func checkBloomArguments(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) {
	if len(lines) == 0 || rounds < 1 || rounds > layout.MaxBloomRounds || len(seen) < bitWords(len(digests)) {
		panic("line: Bloom lines: no lines, rounds out of range or seen too short")
	}
}

// lookUpBloom does TestBloom, or TestAndSetBloom with set.
func lookUpBloom(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int, set bool) (added uint64) {
	if len(digests) == 0 {
		return 0
	}
	var w pipeline
	w.elements = elements{kind: unseen, count: len(digests), digests: digests, seen: seen}
	w.begin(lines)
	for at := range seen[:bitWords(len(digests))] {
		current, ahead, n := w.next()
		if n == 0 {
			continue
		}
		var missed, more uint64
		if set {
			missed, more = testAndSetBloomBatch(lines, current, ahead, n, rounds)
		} else {
			missed = testBloomBatch(lines, current, ahead, n, rounds)
		}
		added += more
		seen[at] |= spread(inOrder(^missed, n), ^seen[at])
	}
	return added
}

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

// hasBits stops at the first missing bit. In a filter of a sensible size, most absent
// elements miss one of their first two bits.
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
