package asm

import "testing"

// BenchmarkSlidingRows takes rows from two of their eight cells taken to four. Half of the
// elements are there already.
func BenchmarkSlidingRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		benchLevels(b, func(b *testing.B) { measureSliding(b, lines) })
	})
}

func measureSliding(b *testing.B, lines [][8]uint64) {
	s := newDigestBatch()
	dates, before, spill := make([]uint16, benchBatch), make([]uint16, benchBatch), make([]uint32, benchBatch)
	words := make([]uint64, benchBatch)
	room, date := 0, uint16(0)
	measure(b, benchBatch, func() {
		if room -= benchBatch / 2; room < 0 {
			untimed(b, func() { fillLines(lines, 2) })
			room = 2 * len(lines)
		}
		date = (date + 1) % SlidingKnown
		for i := range dates {
			dates[i] = date
		}
		s.next()
		for i := range words {
			words[i] = s.digests[i][0]
		}
	}, func() { TestAndSetSliding(lines, before, words, dates, spill) })
}
