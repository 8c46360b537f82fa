package asm

import "testing"

// BenchmarkExactRows takes rows from half of their cells taken to two thirds, and
// from there on to a bitmap of all words. With hash=true the words are permuted
// within the measured time.
func BenchmarkExactRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		for _, hash := range []string{"false", "true"} {
			b.Run("hash="+hash, func(b *testing.B) {
				benchLevels(b, func(b *testing.B) { measureExact(b, lines, hash == "true") })
			})
		}
	})
}

func measureExact(b *testing.B, lines [][8]uint64, hash bool) {
	s, permutation := newDigestBatch(), NewBijection([16]byte{7: 1})
	words, spill := make([]uint32, benchBatch), make([]uint32, benchBatch)
	seen := make([]uint64, benchBatch/64)
	testAndSet, cells := exactKernel(len(lines))
	room := 0
	measure(b, benchBatch, func() {
		if room -= benchBatch / 2; room < 0 {
			untimed(b, func() { fillLines(lines, 4) })
			room = len(lines) * cells / 6
		}
		s.next()
		for i, d := range s.digests {
			words[i] = uint32(d[1] >> 32)
		}
	}, func() {
		if hash {
			permutation.Permute(words, words)
		}
		testAndSet(lines, seen, words, spill)
	})
}

// exactKernel returns the kernel for so many lines, and how many words a line of
// rows holds.
func exactKernel(lines int) (testAndSet func(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int, cells int) {
	switch {
	case lines == exactBitLines:
		return func(lines [][8]uint64, seen []uint64, permuted, _ []uint32) int {
			TestAndSetExactBits(lines, seen, permuted)
			return 0
		}, 512
	case lines >= Exact16Lines:
		return TestAndSetExact16, 32
	default:
		return TestAndSetExact32, 16
	}
}
