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
		for _, p := range timedBenches {
			b.Run(p.name, func(b *testing.B) {
				benchLevels(b, func(b *testing.B) { measureTimed(b, lines, &p.TimedParams) })
			})
		}
	})
}

// timedBenches are the kinds of elements that kernels have loops of their own for. With
// window=none all times are the same, as those of engine.Timed are then.
var timedBenches = []struct {
	name string
	TimedParams
}{
	{"window=some", TimedParams{FPBits: 40, TickBits: 45, Window: 1_000_000}},
	{"window=none", TimedParams{FPBits: 40, TickBits: 45, Window: 0, Refresh: true}},
	{"refresh", TimedParams{FPBits: 40, TickBits: 45, Window: 1_000_000, Refresh: true}},
	{"across", TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1_000_000, Across: true}},
	{"across/refresh", TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1_000_000, Across: true, Refresh: true}},
}

func measureTimed(b *testing.B, lines [][8]uint64, p *TimedParams) {
	s, position := newDigestBatch(), int64(0)
	ticks, points, seen := make([]int64, benchBatch), make([]uint32, benchBatch), make([]uint64, benchBatch/64)
	var c TimedCounts
	measure(b, benchBatch, func() {
		s.next()
		for i := range ticks {
			ticks[i] = (position + int64(i)) * p.Window / 8192
			points[i] = uint32(s.digests[i][1]>>7^uint64(ticks[i])) & 1 // repeats are seen at both
		}
		position += benchBatch
	}, func() { TestAndSetTimed(lines, seen, s.digests, ticks, points, p, &c) })
}
