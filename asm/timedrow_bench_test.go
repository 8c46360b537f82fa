package asm

import "testing"

// BenchmarkTestAndSetTimed finds all cells taken, most of them out of the window,
// which holds all that is repeated: 8192 elements, 4 for each line of the smallest
// size.
func BenchmarkTestAndSetTimed(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		fillLines(lines, 8)
		for i := range lines {
			lines[i][6] &^= 1 << 63
			lines[i][7] &^= 1 << 63
		}
		benchLevels(b, func(b *testing.B) { measureTimed(b, lines) })
	})
}

func measureTimed(b *testing.B, lines [][8]uint64) {
	p := &TimedParams{FPBits: 40, TickBits: 45, Window: 1_000_000}
	s, position := newDigestBatch(), int64(0)
	ticks, seen := make([]int64, benchBatch), make([]uint64, benchBatch/64)
	var c TimedCounts
	measure(b, benchBatch, func() {
		s.next()
		for i := range ticks {
			ticks[i] = (position + int64(i)) * p.Window / 8192
		}
		position += benchBatch
	}, func() { TestAndSetTimed(lines, seen, s.digests, ticks, nil, p, &c) })
}
