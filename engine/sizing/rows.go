// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	leastRowBits = 4  // of a fingerprint in LRU rows
	mostRowBits  = 64 // a whole word
	mostRows     = 32 // of a line
)

// lruRows are rows of fingerprints in which an element moves to the front, and the
// last one leaves, in the shape that stream.New chooses for the bound on the FPR.
func lruRows(r *request, memory int) (design, error) {
	var names []string
	var fits *stream.Shape
	for _, s := range stream.Shapes() {
		names = append(names, s.Name)
		if r.Fixed.Cells != 0 && r.Fixed.Cells != s.Cells() || r.Fixed.CellBits != 0 && r.Fixed.CellBits != s.CellBits() {
			continue
		}
		if fits = &s; s.FPR() <= r.FPR {
			break
		}
	}
	if fits == nil {
		return design{}, impossible("rows of %d cells of %d bits, must be of one of the shapes %s; method rows takes others",
			r.Fixed.Cells, r.Fixed.CellBits, strings.Join(names, ", "))
	}
	return lruRowsOf(r, memory, fits.RowsPerLine(), fits.Cells(), fits.CellBits())
}

// anyRows are the same with cells of any width. A row is a whole line or an equal part of
// one.
func anyRows(r *request, memory int) (design, error) {
	b := best{request: r}
	for parts := 1; parts <= mostRows; parts++ {
		rowBits := lineBits / parts
		if r.Fixed.Cells != 0 {
			b.add(lruRowsOf(r, memory, parts, r.Fixed.Cells, r.Fixed.CellBits))
			continue
		}
		for _, width := range choices(r.Fixed.CellBits, leastRowBits, mostRowBits) {
			cells := rowBits / width
			if cells < 1 {
				break
			}
			if rowFPR(cells, width) <= r.FPR || width == mostRowBits || r.Fixed.CellBits != 0 {
				b.add(lruRowsOf(r, memory, parts, cells, width))
				break
			}
		}
	}
	return b.result()
}

// lruRowsOf is the design with the given number of rows in a line.
func lruRowsOf(r *request, memory, parts, cells, width int) (design, error) {
	if width == 0 { // width of fixed cells
		width = min(mostRowBits, lineBits/parts/cells)
	}
	switch {
	case width < 1 || width > mostRowBits:
		return design{}, impossible("cells of %d bits in rows of %d, must be from 1 to %d", width, cells, mostRowBits)
	case cells*width*parts > lineBits:
		return design{}, impossible("rows of %d cells of %d bits are %d bits, must be at most the %d of a cache line: at most %d cells of these, or of %d bits",
			cells, width, cells*width, lineBits, lineBits/width, lineBits/cells)
	case memory < lineBits:
		return design{}, tooSmall(memory, lineBits, "a cache line")
	}
	lines := memory / lineBits
	rows := lines * parts
	fpr := rowFPR(cells, width)
	return r.finish(design{
		parameters: []Parameter{{"lines", lines}, {"rows of a line", parts}, {"cells", cells}, {"cell bits", width}},
		bits:       lines * lineBits,
		fpr:        fpr,
		lines:      1,
	}, r.load.missesByDistinct(func(different float64) float64 {
		return rowMiss(different, rows, cells) * (1 - fpr)
	})), nil
}

// rowFPR is the probability that a full row contains the fingerprint of a new element;
// one code stands for an empty cell.
func rowFPR(cells, width int) float64 {
	return math.Min(1, float64(cells)/(math.Exp2(float64(width))-1))
}

// rowMiss is the probability that a row has lost an element after the given number of
// distinct others came into all rows: at least as many of them as the row has cells came
// into this one.
func rowMiss(different float64, rows, cells int) float64 {
	return theory.PoissonTail(cells, different/float64(rows))
}

// coarseRows is window.Coarse with coarse or with fine cells: lines of many cells, which
// also blur a window's edges. Elements that do not fit into a line go to a spare line.
func coarseRows(fine bool) model {
	cells, bits, rate := layout.CoarseCells, layout.CoarseFingerprintBits+8, window.CoarseFPR
	if fine {
		cells, bits, rate = layout.FineCells, layout.FineFingerprintBits+6, window.FineFPR
	}
	return func(r *request, memory int) (design, error) {
		w := r.windowOf()
		if r.Kind != Count {
			w = window.Window{Duration: window.Default} // most have this error
		}
		d := design{fpr: rate, edge: window.CoarseEdgeError(w, fine)}
		spare := window.SpareLines(memory / lineBits)
		if spare == 0 {
			return windowRows(r, memory, cells, bits, d)
		}
		lines := memory / lineBits
		d.parameters = []Parameter{{"lines", lines}, {"of them spare", spare}, {"cells", cells}, {"cell bits", bits}}
		d.bits = lines * lineBits
		rows, own := window.CoarseModel(w, fine), float64(lines-spare)
		d = r.crowded(r.spareRows(d, rows, own), rows, own)
		d.fpr *= d.lines
		return d, nil
	}
}

// spareRows completes d for lines with spare lines; lines does not count these.
func (r *request) spareRows(d design, rows theory.SpareRows, lines float64) design {
	if r.anchored == nil {
		lost := rows.Lost(r.window / lines)
		d = r.finish(d, r.load.missesByDistinct(func(different float64) float64 { return lost(different / r.window) }))
		d.lines = 1 + rows.Full(r.window/lines)*r.load.fresh
		return d
	}
	share, elements := r.anchored.insertions, r.anchored.window
	for {
		lost := rows.Lost(share * elements / lines)
		found, missed := r.anchored.copies(func(between float64) float64 { return 1 - lost(between/elements) })
		before := share
		if share = 1 / (1 + found); share-before > leastChange { // misses are insertions, too
			continue
		}
		d = r.finish(d, r.load.missesByGap(func(between float64) float64 { return lost(between / elements) }))
		if d.fnr = 0; missed > 0 {
			d.fnr = missed / (found + missed)
		}
		d.lines = 1 + rows.Full(share*elements/lines)*share
		return d
	}
}

// crowded raises the misses of a design to the ones of a fixed population, whose members crowd the
// same lines all the time.
func (r *request) crowded(d design, rows theory.SpareRows, lines float64) design {
	p := theory.Population{Rows: rows, Members: r.Elements / math.Max(r.turns, 1) / lines, Turns: r.turns}
	if r.anchored != nil && p.Crowds() {
		d.fnr = math.Max(d.fnr, p.MissRate())
	}
	return d
}

// leastChange is the rise of the share of insertions from which on it is computed anew.
const leastChange = 1e-3

// windowRows completes d for lines that are rows of the given number of cells, which
// evict the oldest element of a window.
func windowRows(r *request, memory, cells, cellBits int, d design) (design, error) {
	if memory < lineBits {
		return design{}, tooSmall(memory, lineBits, "a cache line")
	}
	lines := memory / lineBits
	d.parameters = []Parameter{{"lines", lines}, {"cells", cells}, {"cell bits", cellBits}}
	d.bits, d.lines = lines*lineBits, 1
	forgotten := func(others float64) float64 { return rowMiss(others, lines, cells) }
	if r.anchored == nil {
		return r.finish(d, r.load.missesByDistinct(forgotten)), nil
	}
	fnr, insertions := r.anchored.rowMisses(r.window, r.window/float64(lines), cells)
	d = r.finish(d, r.load.missesByGap(func(between float64) float64 { return forgotten(insertions * between) }))
	d.fnr = fnr
	return d, nil
}

// windowOf returns a window of as many elements as the question has.
func (r *request) windowOf() window.Window {
	if r.Kind == Unbounded {
		return window.Window{None: true}
	}
	return window.Window{Packets: int64(math.Ceil(r.Elements))}
}

// timedRows is window.Timed: lines of six cells with a fingerprint and a time, and spare
// lines for the overflow. Without a window there are no spare lines.
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
	rows, own := window.TimedModel(), float64(lines-spare)
	inOrder := own
	if r.Kind != Count {
		own /= lateness(r.window / own)
	}
	return r.crowded(r.spareRows(d, rows, own), rows, inOrder), nil
}

// lateness returns the factor by which elements for late ones raise the load of live elements
// a line. Each counts as half an element, because it is the first to leave.
func lateness(load float64) float64 { return 1 + window.Slack(load)/2 }

// timedFPR asks the filter itself for its bound, which depends on how it divides its
// cells for the requested FPR. If it cannot keep that rate, the result is its lowest
// rate.
func timedFPR(r *request) (float64, error) {
	const lowest = 1e-12 // above the rate of the widest fingerprints
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
