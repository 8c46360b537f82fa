package asm

import (
	"fmt"
	"math/bits"
	"testing"
)

// BenchmarkBits takes filters from a quarter of their bits set to three eighths,
// the middle of their life as parts of a growing filter.
func BenchmarkBits(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		seen := make([]uint64, benchBatch/64)
		for _, rounds := range []int{1, 2, 3} {
			b.Run(fmt.Sprintf("rounds=%d", rounds), func(b *testing.B) {
				benchLevels(b, func(b *testing.B) {
					s, room := newDigestBatch(), 0
					measure(b, benchBatch, func() {
						if room -= benchBatch / 2; room < 0 {
							untimed(b, func() { setQuarter(lines) })
							room = len(lines) * 12 / rounds // new elements, of 8*rounds bits each
						}
						s.next()
						clear(seen)
					}, func() { TestAndSetBits(lines, seen, s.digests, rounds) })
				})
			})
		}
	})
}

// setQuarter sets a quarter of all bits.
func setQuarter(lines [][8]uint64) {
	fillLines(lines, 8)
	for i := range lines {
		for w, word := range lines[i] {
			lines[i][w] = word & bits.RotateLeft64(word, 23)
		}
	}
}
