package asm

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// binomialBounds returns the least and the greatest number of hits in n trials of
// probability p, but for a probability of at most 1e-6 on each side.
func binomialBounds(n int, p float64) (least, most int) {
	const alpha = 1e-6
	logChoose := func(k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	below := 0.0
	least = -1
	for k := 0; k <= n; k++ {
		below += math.Exp(logChoose(k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		if least < 0 && below > alpha {
			least = k
		}
		if below > 1-alpha {
			return least, k
		}
	}
	return max(0, least), n
}

// TestRowsSaturationFPR fills all cells and then looks up elements that never
// were there. Each is found with probability Cells/(2^w-1), whatever the rows hold,
// and with probability 1-(1-1/(2^w-1))^Cells if they may hold a fingerprint twice.
func TestRowsSaturationFPR(t *testing.T) {
	trials := map[RowShape]int{Rows8x8: 1 << 17, Rows4x16: 1 << 20, Lines32x16: 1 << 19, Lines16x32: 1 << 17, Lines8x64: 1 << 17}
	forRows(t, func(t *testing.T, p RowParams) {
		const lineCount, batch = 16, 1 << 13
		rng := rand.New(rand.NewPCG(uint64(p.Shape), 20+uint64(p.Eviction)))
		lines, seen, digests := make([][8]uint64, lineCount), make([]uint64, batch/64), make([]Digest, batch)
		var filled, found, position uint64
		next := func() RowCounts {
			for i := range digests {
				digests[i] = Digest{rng.Uint64(), rng.Uint64()}
			}
			position += batch
			return TestAndSetRows(lines, seen, digests, position, nil, p)
		}
		// These are 16 times as many elements as there are cells, or more.
		for range 2 {
			filled += next().Filled
		}
		cells := p.Shape.Cells() * p.Shape.RowsPerLine() * lineCount
		if filled != uint64(cells) {
			t.Fatalf("%d cells filled, want %d", filled, cells)
		}
		for range trials[p.Shape] / batch {
			next()
			for _, word := range seen {
				found += uint64(bits.OnesCount64(word))
			}
		}
		values := math.Exp2(float64(p.Shape.CellBits())) - 1
		rate := float64(p.Shape.Cells()) / values
		if p.Eviction == EvictQueue {
			rate = -math.Expm1(float64(p.Shape.Cells()) * math.Log1p(-1/values))
		}
		least, most := binomialBounds(trials[p.Shape], rate)
		if int(found) < least || int(found) > most {
			t.Errorf("%d of %d never seen are found, want %d to %d", found, trials[p.Shape], least, most)
		}
	})
}

// TestRowVictims counts which cells random evictions take: of one element at many
// positions, and of many elements at one position.
func TestRowVictims(t *testing.T) {
	const blocks = 1000
	for shape := range RowShapes {
		for _, sameElement := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(shape), 30))
			g, cells, words := newRowGeometry(shape), shape.Cells(), shape.InWords()
			counts := make(map[uint64]int)
			var b batch
			digests := make([]Digest, 64)
			for at := range uint64(blocks) {
				if sameElement {
					b.fill(digests, 1, words, at*64, nil, true)
				} else {
					for i := range digests {
						digests[i] = Digest{rng.Uint64(), 0}
					}
					b.fill(digests, 1, words, 0, make([]uint32, 64), true)
				}
				b.fingerprint(64, &g, true)
				for _, victim := range b.random {
					counts[victim]++
				}
			}
			least, most := binomialBounds(64*blocks, 1/float64(cells))
			for cell := range cells {
				if n := counts[g.top<<(cell<<g.spacing)]; n < least || n > most {
					t.Errorf("%d cells, same element %v: cell %d is taken %d times, want %d to %d", cells, sameElement, cell, n, least, most)
				}
			}
		}
	}
}
