// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// slidingModel is the contract of TestAndSetSliding, with a map of dates for each line.
type slidingModel struct {
	lines []map[uint64]uint16
}

func (m *slidingModel) testAndSet(d digest.Digest, date uint16) (before uint16, overflowed bool) {
	line := m.lines[d[0]>>(65-bits.Len(uint(len(m.lines))))]
	known, ok := line[d[0]>>6&(1<<48-1)]
	switch {
	case !ok && len(line) == 8:
		return 0, true
	case ok:
		before = known | 1<<15
	}
	if later := (date - known) & 0x7fff; !ok || later < 0x4000 {
		line[d[0]>>6&(1<<48-1)] = date
	}
	return before, false
}

// lows returns the low halves of digests.
func lows(d []digest.Digest) []uint64 {
	words := make([]uint64, len(d))
	for i := range d {
		words[i] = d[i][0]
	}
	return words
}

// slidingBatch makes elements of a stream, and dates that go on and are late at times.
func slidingBatch(rng *rand.Rand, d []digest.Digest, dates []uint16, kind int, now int) {
	fillDigests(rng, d, digestBatches[kind].digest)
	for i := range dates {
		dates[i] = uint16(now+rng.IntN(3)*rng.IntN(200)) & 0x7fff
	}
}

func TestSlidingModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for kind := range digestBatches {
			rng := rand.New(rand.NewPCG(41, uint64(kind)))
			model := slidingModel{make([]map[uint64]uint16, layout.SlidingLines)}
			for i := range model.lines {
				model.lines[i] = map[uint64]uint16{}
			}
			lines := make([]layout.Line, layout.SlidingLines)
			for round := range 100 {
				const n = 200
				d, dates, before, overflow := make([]digest.Digest, n), make([]uint16, n), make([]uint16, n), make([]uint32, n)
				slidingBatch(rng, d, dates, kind, 300*round)
				overflows := overflow[:TestAndSetSliding(lines, before, lows(d), dates, overflow)]
				for i := range d {
					want, overflowed := model.testAndSet(d[i], dates[i])
					if before[i] != want || overflowed != slices.Contains(overflows, uint32(i)) {
						t.Fatalf("%s: element %d: %#x, overflows %v, want %#x, overflowed %v", digestBatches[kind].name, i, before[i], overflows, want, overflowed)
					}
				}
			}
		}
	})
}

// TestSlidingLevels begins with lines that no call has made: cells of any dates, empty ones in
// between.
func TestSlidingLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for kind := range digestBatches {
			for _, front := range []bool{false, true} {
				slidingLevels(t, kind, front)
			}
		}
	})
}

func slidingLevels(t *testing.T, kind int, front bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(43, uint64(kind)))
	words, dates := guardedPart[uint64](t, mostElements, front), guardedPart[uint16](t, mostElements, front)
	befores, overflows := guardedPart[uint16](t, mostElements, front), guardedPart[uint32](t, mostElements, front)
	test := levelTest{lines: layout.SlidingLines, front: front, rng: rng}
	test.start = func(lines, _ []layout.Line) {
		fillLines(lines, 8)
		for i := range lines {
			for c := range lines[i] {
				lines[i][c] |= layout.SlidingPresent
				if rng.IntN(3) == 0 || slices.ContainsFunc(lines[i][:c], func(other uint64) bool { return (other^lines[i][c])>>layout.SlidingDateBits == 0 }) {
					lines[i][c] = 0
				}
			}
		}
	}
	test.draw = func(d []digest.Digest) { slidingBatch(rng, d, dates(len(d)), kind, 100*len(d)) }
	test.call = func(n int) levelCall {
		word, date, before, overflow := words(n), dates(n), befores(n), overflows(n)
		return func(lines, _ []layout.Line, _ []uint64, digests []digest.Digest) any {
			copy(word, lows(digests))
			n := TestAndSetSliding(lines, before, word, date, overflow)
			return [2]any{slices.Clone(before), slices.Clone(overflow[:n])}
		}
	}
	test.run(t)
}

func TestSlidingPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"lines": func() { TestAndSetSliding(make([]layout.Line, 512), nil, nil, nil, nil) },
		"power": func() { TestAndSetSliding(make([]layout.Line, 1025), nil, nil, nil, nil) },
		"before": func() {
			TestAndSetSliding(make([]layout.Line, 1024), nil, make([]uint64, 1), make([]uint16, 1), make([]uint32, 1))
		},
		"dates": func() {
			TestAndSetSliding(make([]layout.Line, 1024), make([]uint16, 1), make([]uint64, 1), nil, make([]uint32, 1))
		},
		"overflow": func() {
			TestAndSetSliding(make([]layout.Line, 1024), make([]uint16, 1), make([]uint64, 1), make([]uint16, 1), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", call)
		})
	}
}

// Split cells are found in their new lines with their dates, and there are no others.
func TestSplitSlidingRows(t *testing.T) { kerneltest.ForEveryLevel(t, testSplitSlidingRows) }

func testSplitSlidingRows(t *testing.T) {
	for _, lines := range []int{layout.SlidingLines, 8 * layout.SlidingLines} {
		rng := rand.New(rand.NewPCG(23, uint64(lines)))
		n := 5 * lines
		words, dates := make([]uint64, n), make([]uint16, n)
		for i := range words {
			words[i], dates[i] = rng.Uint64(), uint16(rng.IntN(1<<14))
		}
		old, rows := make([]layout.Line, lines), make([]layout.Line, 2*lines)
		before, overflow := make([]uint16, n), make([]uint32, n)
		overflowed := map[uint32]bool{}
		for _, i := range overflow[:TestAndSetSliding(old, before, words, dates, overflow)] {
			overflowed[i] = true
		}
		SplitSlidingRows(rows, old, 0, lines)
		taken := 0
		for i := range rows {
			for _, cell := range rows[i] {
				if cell != 0 {
					taken++
				}
			}
		}
		if taken != n-len(overflowed) {
			t.Errorf("%d lines: %d cells before, %d after", lines, n-len(overflowed), taken)
		}
		TestAndSetSliding(rows, before, words, dates, overflow)
		for i, date := range dates {
			if want := date | layout.SlidingPresent; !overflowed[uint32(i)] && before[i] != want {
				t.Fatalf("%d lines: element %d had %#x, want %#x", lines, i, before[i], want)
			}
		}
	}
}

func TestSplitSlidingRowsPanics(t *testing.T) {
	const least = layout.SlidingLines
	for _, c := range [][2]int{{least, least}, {least, least / 2}, {4 * least, least}, {2*least + 2, least + 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			kerneltest.Panics(t, "", func() {
				SplitSlidingRows(make([]layout.Line, c[0]), make([]layout.Line, c[1]), 0, 0)
			})
		})
	}
}

// TestPurgeSliding removes old cells, and cells outside of a sample, from lines that are
// full, empty, or have gaps, with guard pages on either side, at each level.
func TestPurgeSliding(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, front := range []bool{false, true} {
			for lines := range 40 {
				rng := rand.New(rand.NewPCG(uint64(lines), 47))
				rows, want := kerneltest.Guarded[[8]uint64](t, lines, front), make([]layout.Line, lines)
				e := SlidingExpiry{Current: rng.Uint64() >> rng.UintN(60), Steps: rng.Uint64N(1 << 14), Out: rng.Uint64N(4) << (layout.SlidingDateBits + 1)}
				removed := 0
				for i := range rows {
					for at := range rows[i] {
						rows[i][at] = 0
						if rng.IntN(3) == 0 {
							continue
						}
						cell := rng.Uint64() | layout.SlidingPresent
						if rng.IntN(2) == 0 { // at the border
							cell = cell&^(layout.SlidingPresent-1) | (e.Current-e.Steps-rng.Uint64N(2))&(layout.SlidingPresent-1)
						}
						rows[i][at] = cell
						age := (e.Current - cell) % layout.SlidingPresent
						if age > e.Steps || cell&e.Out != 0 {
							removed++
						} else {
							want[i][at] = cell
						}
					}
				}
				if got := e.Purge(rows); got != removed || !slices.Equal(rows, want) {
					t.Fatalf("%d lines: removed %d, want %d; %x, want %x", lines, got, removed, rows, want)
				}
			}
		}
	})
}
