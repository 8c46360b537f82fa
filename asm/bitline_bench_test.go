package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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

// BenchmarkBitLines takes 2^21 elements round and round, in calls of 512. Half
// of them are copies of one of the last thousand, so that no guess of the branch
// predictor is a good one, and the others come back after all lines are replaced
// in the caches.
func BenchmarkBitLines(b *testing.B) {
	const n, batch = 1 << 21, 512
	rng := rand.New(rand.NewPCG(13, 14))
	digests, positions := make([]Digest, n), make([]uint64, n)
	for i := range digests {
		positions[i] = uint64(i + 1)
		digests[i] = Digest{rng.Uint64(), rng.Uint64()}
		if i >= 1000 && rng.IntN(2) == 0 {
			digests[i] = digests[i-1-rng.IntN(1000)]
		}
	}
	for _, lines := range []int{1 << 11, 1 << 14, 1 << 18, 1 << 21} {
		filter := make([][8]uint64, lines)
		for _, m := range usualBitLines {
			clear(filter)
			b.Run(fmt.Sprintf("%s/KiB=%d", m.name, lines/16), func(b *testing.B) {
				var seen [batch / 64]uint64
				var counts BitLineCounts
				at := 0
				for b.Loop() {
					TestAndSetBitLines(filter, seen[:], digests[at:at+batch], positions[at:], m.params, &counts)
					at = (at + batch) % n
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
			})
		}
	}
}
