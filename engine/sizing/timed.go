// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// timedRows is window.Timed: lines of six cells with a fingerprint and a time, and spare
// lines for what does not fit. Without a window there are none.
func timedRows(r *request, memory int) (design, error) {
	fpr, err := timedFPR(r)
	if err != nil {
		return design{}, err
	}
	spare := window.SpareLines(memory / lineBits)
	if r.Kind == Unbounded || spare == 0 {
		return windowRows(r, memory, layout.TimedCells, layout.TimedCellBits, design{fpr: fpr})
	}
	lines := memory / lineBits
	d := design{
		parameters: []Parameter{{"lines", lines - spare}, {"spare lines", spare}, {"cells", layout.TimedCells}, {"cell bits", layout.TimedCellBits}},
		bits:       lines * lineBits, fpr: fpr,
	}
	rows := spareRows{lines: float64(lines - spare), inOrder: r.Kind == Count}
	if r.anchored == nil {
		d.lines = 1 + rows.asked(r.window)
		return r.finish(d, r.load.missesByDistinct(func(different float64) float64 { return rows.miss(r.window, different) })), nil
	}
	fnr, insertions := r.anchored.spareMisses(rows)
	d.lines = 1 + rows.asked(insertions*r.Elements)
	d = r.finish(d, r.load.missesByGap(func(between float64) float64 {
		return rows.miss(insertions*r.Elements, insertions*between)
	}))
	d.fnr = fnr
	return d, nil
}

// timedFPR asks the filter itself for its bound, which depends on how it divides its
// cells for the requested FPR. If it cannot keep that, the result is the lowest that it
// can.
func timedFPR(r *request) (float64, error) {
	const lowest = 1e-12 // above what the widest fingerprints reach
	for _, bound := range []float64{r.FPR, lowest} {
		filter, err := window.NewTimed(window.TimedConfig{Window: r.windowOf(), Memory: lineBits / 8, FPR: bound})
		if errors.Is(err, engine.ErrFPR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return filter.Stats().PredictedFPR, filter.Close()
	}
	return 0, impossible("timed rows keep no false positive rate of %g", r.FPR)
}

// spareRows are timed rows with spare lines. lines does not count these.
type spareRows struct {
	lines   float64
	inOrder bool // no element is late, so nothing is remembered beyond the window
}

// miss returns the probability that an element is forgotten when so many others came after
// it, of a window's elements. What is remembered for late elements counts as half an
// element each: it is the first to leave.
func (s spareRows) miss(windowed, others float64) float64 {
	load := windowed / s.lines
	if windowed <= 0 {
		return 0
	}
	age := math.Min(1, others/windowed)
	if !s.inOrder {
		load *= 1 + window.Slack(load)/2
	}
	return spareMiss(load, age)
}

// asked returns about which share of elements look at a spare line: those whose line was
// full.
func (s spareRows) asked(windowed float64) float64 {
	return rowMiss(windowed, int(s.lines), layout.TimedCells)
}

// spareMisses is rowMisses for rows with spare lines. Few elements miss their row alone, so
// all rows have one equilibrium.
func (a *anchored) spareMisses(rows spareRows) (fnr, insertions float64) {
	const steps = 24 // of a bisection
	low, high, missed, found := a.insertions, 1.0, 0.0, 0.0
	for range steps {
		insertions = (low + high) / 2
		found, missed = a.copies(func(elements float64) float64 {
			return 1 - rows.miss(insertions*a.window, insertions*elements)
		})
		if 1/(1+found) > insertions {
			low = insertions
		} else {
			high = insertions
		}
	}
	if missed == 0 {
		return 0, insertions
	}
	return missed / (found + missed), insertions
}
