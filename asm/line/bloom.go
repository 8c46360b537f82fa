package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
	"github.com/flowdedup/flowdedup/layout"
)

// bloomSalts has the multipliers of bits, and one word that kernels load a half of with the
// last ones.
type bloomSalts [8*layout.MaxBloomRounds + 1]uint64

// salts holds the odd multiplier of each word and round: entry 8*j+w serves
// word w in round j. They are the outputs of SplitMix64 started at 0, made odd;
// any fixed random numbers would do, since digests are keyed.
var salts = func() (salts bloomSalts) {
	var state uint64
	for i := range 8 * layout.MaxBloomRounds {
		salts[i] = splitmix.Next(&state) | 1
	}
	return salts
}()

// TestBloom looks up digests in a blocked Bloom filter. An element lies in one
// line, number floor(d[1]*len(lines)/2^64), and owns in each of its eight words
// one bit for each round j: bit (d[0]*salt[8j+w]) >> 58 of word w, modulo 2^64
// (a split block Bloom filter as Apache Parquet has it, with wider lines).
// It is seen if all its 8*rounds bits are set.
//
// Bit i of seen is set if digests[i] is found. Bits that are set already stay,
// and their elements are not looked up: several filters are searched by calling
// one after the other on the same bits, cleared at first.
//
// It takes constant time for each element and round, does not allocate, and panics
// if lines is empty, rounds is not in 1 to MaxBloomRounds or seen holds fewer than
// len(digests) bits.
func TestBloom(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) {
	checkBloomArguments(lines, seen, digests, rounds)
	lookUpBloom(lines, seen, digests, rounds, false)
}

// TestAndSetBloom does what TestBloom does, in stream order, and sets the bits of
// every element that it does not find, so that a later equal element of the
// same call is found. It returns by how many the filter's set bits became
// more. Elements whose bit in seen was set before the call are left alone.
// It panics as TestBloom does.
func TestAndSetBloom(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) (added uint64) {
	checkBloomArguments(lines, seen, digests, rounds)
	return lookUpBloom(lines, seen, digests, rounds, true)
}

func checkBloomArguments(lines []layout.Line, seen []uint64, digests []digest.Digest, rounds int) {
	if len(lines) == 0 || rounds < 1 || rounds > layout.MaxBloomRounds || len(seen) < bitWords(len(digests)) {
		panic("line: Bloom lines: no lines, rounds out of range or seen too short")
	}
}

// lookUpBloom does TestBloom, or TestAndSetBloom if bits are to be set.
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
