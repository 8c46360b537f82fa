package layout

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
)

// Cells that were split are found in their new lines with their dates, and there are no
// others.
func TestSplitSlidingRows(t *testing.T) {
	for _, lines := range []int{asm.SlidingLines, 8 * asm.SlidingLines} {
		rng := rand.New(rand.NewPCG(23, uint64(lines)))
		n := 5 * lines
		words, dates := make([]uint64, n), make([]uint16, n)
		for i := range words {
			words[i], dates[i] = rng.Uint64(), uint16(rng.IntN(1<<14))
		}
		old, rows := make([]Line, lines), make([]Line, 2*lines)
		before, spill := make([]uint16, n), make([]uint32, n)
		spilled := map[uint32]bool{}
		for _, i := range spill[:asm.TestAndSetSliding(old, before, words, dates, spill)] {
			spilled[i] = true
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
		if taken != n-len(spilled) {
			t.Errorf("%d lines: %d cells before, %d after", lines, n-len(spilled), taken)
		}
		asm.TestAndSetSliding(rows, before, words, dates, spill)
		for i, date := range dates {
			if want := date | asm.SlidingKnown; !spilled[uint32(i)] && before[i] != want {
				t.Fatalf("%d lines: element %d had %#x, want %#x", lines, i, before[i], want)
			}
		}
	}
}

func TestSplitSlidingRowsPanics(t *testing.T) {
	const least = asm.SlidingLines
	for _, c := range [][2]int{{least, least}, {least, least / 2}, {4 * least, least}, {2*least + 2, least + 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			SplitSlidingRows(make([]Line, c[0]), make([]Line, c[1]), 0, 0)
		})
	}
}
