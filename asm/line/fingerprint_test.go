// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// forRows runs a test with all shapes and evictions.
func forRows(t *testing.T, test func(t *testing.T, p RowParams)) {
	t.Helper()
	for shape := range layout.RowShapes {
		for eviction := range evictions {
			p := RowParams{shape, eviction}
			t.Run(fmt.Sprintf("%dx%d eviction=%d", p.Shape.Cells(), p.Shape.CellBits(), eviction), func(t *testing.T) { test(t, p) })
		}
	}
}

// TestRowsAgainstModel cuts streams into calls of all sizes and compares verdicts,
// counts and memory with the model.
func TestRowsAgainstModel(t *testing.T) {
	forRows(t, func(t *testing.T, p RowParams) {
		rng := rand.New(rand.NewPCG(uint64(p.Shape), uint64(p.Eviction)))
		for _, stream := range rowStreams {
			for _, lineCount := range []int{1, 2, 5} {
				digests := make([]digest.Digest, 1500)
				stream.drawing(rng)(digests)
				checkRows(t, p, lineCount, rng.Uint64(), digests, func() int { return rng.IntN(200) })
			}
		}
	})
}

// checkRows runs a stream through kernel and model, in calls of the sizes that
// batch returns.
func checkRows(t *testing.T, p RowParams, lineCount int, position uint64, digests []digest.Digest, batch func() int) {
	t.Helper()
	model := newRowModel(lineCount, p)
	lines := make([]layout.Line, lineCount)
	var counts RowCounts
	stream := modelTest{
		name: p, n: len(digests), batch: func(int) int { return batch() },
		kernel: func(from, to int, seen []uint64) {
			c := TestAndSetRows(lines, seen, digests[from:to], position+uint64(from), p)
			counts.Filled += c.Filled
			counts.Evicted += c.Evicted
		},
		model: func(i int) bool { return model.testAndSet(digests[i], position+uint64(i)) },
	}
	stream.run(t)
	if counts != model.counts {
		t.Fatalf("counts %+v, want %+v", counts, model.counts)
	}
	checkLines(t, p, lines, model.line)
}

func TestRowsPanics(t *testing.T) {
	for _, c := range []struct {
		want        string
		lines, seen int
		p           RowParams
	}{
		{"unknown", 1, 2, RowParams{layout.RowShapes, EvictLRU}},
		{"unknown", 1, 2, RowParams{layout.Rows8x8, evictions}},
		{"no lines", 0, 2, RowParams{}},
		{"seen", 1, 1, RowParams{}},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetRows(make([]layout.Line, c.lines), make([]uint64, c.seen), make([]digest.Digest, 65), 0, c.p)
		})
	}
}

func TestRowsDoNotAllocate(t *testing.T) {
	lines, seen, digests := make([]layout.Line, 4), make([]uint64, 2), make([]digest.Digest, 100)
	forRows(t, func(t *testing.T, p RowParams) {
		if got := testing.AllocsPerRun(10, func() { TestAndSetRows(lines, seen, digests, 0, p) }); got != 0 {
			t.Errorf("%v allocations", got)
		}
	})
}

// rowModel is the contract of TestAndSetRows without packed words: a row is a
// list of fingerprints from its front on.
type rowModel struct {
	p      RowParams
	rows   [][]uint64
	counts RowCounts
}

func newRowModel(lines int, p RowParams) *rowModel {
	return &rowModel{p: p, rows: make([][]uint64, lines*p.Shape.RowsPerLine())}
}

// scaled returns floor(x * n / 2^64).
func scaled(x uint64, n *big.Int) uint64 {
	v := new(big.Int).Mul(new(big.Int).SetUint64(x), n)
	return v.Rsh(v, 64).Uint64()
}

func (m *rowModel) testAndSet(d digest.Digest, position uint64) (found bool) {
	row := &m.rows[scaled(d[1], big.NewInt(int64(len(m.rows))))]
	values := new(big.Int).Sub(power(uint(m.p.Shape.CellBits())), big.NewInt(1))
	fingerprint := 1 + scaled(d[0], values)
	cells := m.p.Shape.Cells()
	at := slices.Index(*row, fingerprint)
	if found = at >= 0; found && m.p.Eviction != EvictQueue && m.p.Eviction != EvictRandomCopies {
		if m.p.Eviction == EvictLRU {
			*row = slices.Insert(slices.Delete(*row, at, at+1), 0, fingerprint)
		}
		return true
	}
	full := len(*row) == cells
	if full {
		m.counts.Evicted++
	} else {
		m.counts.Filled++
	}
	switch {
	case m.p.Eviction == EvictLRU, m.p.Eviction == EvictQueue, m.p.Eviction == EvictQueueOnce:
		*row = slices.Insert(*row, 0, fingerprint)
		*row = (*row)[:min(cells, len(*row))]
	case full:
		h := prng(d[0], position)
		(*row)[scaled(h, big.NewInt(int64(cells)))] = fingerprint
	default:
		*row = append(*row, fingerprint)
	}
	return found
}

// line returns the words that a line must hold.
func (m *rowModel) line(i int) (words [8]uint64) {
	rows := m.p.Shape.RowsPerLine()
	width := m.p.Shape.CellBits()
	for r, row := range m.rows[i*rows : (i+1)*rows] {
		for c, fingerprint := range row {
			bit := r*512/rows + c*width
			words[bit/64] |= fingerprint << (bit % 64)
		}
	}
	return words
}

// goldenRows are verdicts and memory as TestAndSetRows defines them, for other
// implementations and CPUs to reproduce.
type goldenRows struct {
	Comment         string
	Lines, Elements int
	Position        uint64
	Rows            []goldenRow
}

type goldenRow struct {
	Cells, CellBits int
	Eviction        Eviction
	Filled, Evicted uint64
	Seen, Memory    kerneltest.Hex
}

func makeGoldenRows() goldenRows {
	g := goldenRows{
		Comment: goldenElements + "evictions are 0 random, 1 LRU, 2 queue, 3 random with copies, 4 queue without copies; seen and memory are little-endian words",
		Lines:   3, Elements: 1000, Position: 1 << 40,
	}
	digests := goldenDigests(g.Elements)
	for shape := range layout.RowShapes {
		for eviction := range evictions {
			lines, seen := make([]layout.Line, g.Lines), make([]uint64, (g.Elements+63)/64)
			c := TestAndSetRows(lines, seen, digests, g.Position, RowParams{shape, eviction})
			row := goldenRow{Cells: shape.Cells(), CellBits: shape.CellBits(), Eviction: eviction, Filled: c.Filled, Evicted: c.Evicted}
			row.Seen, row.Memory = kerneltest.Words(seen), goldenLines(lines)
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

func TestGoldenRows(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) { kerneltest.CheckGolden(t, "rows.json", makeGoldenRows()) })
}

// binomialBounds returns the least and the greatest number of hits in n trials of
// probability p, except with a probability of at most 1e-6 on each side.
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
	trials := map[layout.RowShape]int{layout.Rows8x8: 1 << 17, layout.Rows4x16: 1 << 20, layout.Lines32x16: 1 << 19, layout.Lines16x32: 1 << 17, layout.Lines8x64: 1 << 17}
	forRows(t, func(t *testing.T, p RowParams) {
		const lineCount, batch = 16, 1 << 13
		rng := rand.New(rand.NewPCG(uint64(p.Shape), 20+uint64(p.Eviction)))
		lines, seen, digests := make([]layout.Line, lineCount), make([]uint64, batch/64), make([]digest.Digest, batch)
		var filled, found, position uint64
		next := func() RowCounts {
			for i := range digests {
				digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
			}
			position += batch
			return TestAndSetRows(lines, seen, digests, position, p)
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
		if p.Eviction.InsertsCopies() {
			rate = -math.Expm1(float64(p.Shape.Cells()) * math.Log1p(-1/values))
		}
		least, most := binomialBounds(trials[p.Shape], rate)
		if int(found) < least || int(found) > most {
			t.Errorf("%d of %d never seen are found, want %d to %d", found, trials[p.Shape], least, most)
		}
	})
}

// TestRowVictims counts which cells random evictions take: of one element at many
// positions, and of many elements at the same 64.
func TestRowVictims(t *testing.T) {
	const blocks = 1000
	for shape := range layout.RowShapes {
		for _, sameElement := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(shape), 30))
			g, cells, words := newRowGeometry(shape, topVictims()), shape.Cells(), shape.InWords()
			counts := make(map[uint64]int)
			var b batch
			digests := make([]digest.Digest, 64)
			for at := range uint64(blocks) {
				if sameElement {
					b.fill(digests, 1, words, at*64, true)
				} else {
					for i := range digests {
						digests[i] = digest.Digest{rng.Uint64(), 0}
					}
					b.fill(digests, 1, words, 0, true)
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
