package asm

import "testing"

// usualBitLines are the methods as they are usually run, all for a few percent to
// a quarter of new elements taken for seen.
var usualBitLines = []struct {
	name   string
	params BitLineParams
}{
	{"SBF/K=2/P=5", BitLineParams{BitsSBF, 2, 5}},
	{"SBF/K=3/P=11", BitLineParams{BitsSBF, 3, 11}},
	{"RSBF/K=2", BitLineParams{BitsRSBF, 2, 0}},
	{"BSBF/K=2", BitLineParams{BitsBSBF, 2, 0}},
	{"BSBFSD/K=2", BitLineParams{BitsBSBFSD, 2, 0}},
	{"RLBSBF/K=2", BitLineParams{BitsRLBSBF, 2, 0}},
	{"RLBSBF/K=3", BitLineParams{BitsRLBSBF, 3, 0}},
}

// BenchmarkBitLines starts from empty lines, which are in their steady state after a
// part of the first digests.
func BenchmarkBitLines(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		var seen [benchBatch / 64]uint64
		for _, m := range usualBitLines {
			clear(lines)
			b.Run(m.name, func(b *testing.B) {
				benchLevels(b, func(b *testing.B) {
					var counts BitLineCounts
					position := uint64(1)
					measureDigests(b, func(digests []Digest) {
						TestAndSetBitLines(lines, seen[:], digests, position, nil, m.params, &counts)
						position += benchBatch
					})
				})
			})
		}
	})
}
