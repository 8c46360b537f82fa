// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// lruRows are rows of fingerprints in which an element moves to the front, and the
// last element leaves, in the shape that stream.New chooses for the bound on the FPR.
func lruRows(r *Request, memory int) (Design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return Design{}, errMemory
	}
	var shape stream.Shape
	for _, shape = range stream.Shapes() {
		if shape.FPR() <= r.FPR {
			break
		}
	}
	rows, cells, fpr := lines*shape.RowsPerLine(), shape.Cells(), shape.FPR()
	return r.Finish(Design{
		Parameters: map[string]int{"lines": lines, "rows of a line": shape.RowsPerLine(), "cells": cells, "cell bits": shape.CellBits()},
		Bits:       lines * lineBits,
		FPR:        fpr,
		Lines:      1,
	}, MissesOf(r.Load.Different, func(different float64) float64 {
		return rowMiss(different, rows, cells) * (1 - fpr)
	})), nil
}

// rowMiss is the probability that a row has lost an element after the given number of
// distinct others came into all rows: at least as many of them as the row has cells came
// into this one.
func rowMiss(different float64, rows, cells int) float64 {
	return theory.PoissonTail(cells, different/float64(rows))
}

// coarseRows is window.Coarse with coarse or with fine cells: lines of many cells, which
// also blur a window's edges. Elements that do not fit into a line go to a spare line.
func coarseRows(fine bool) Model {
	cells, bits, rate := layout.CoarseCells, layout.CoarseFingerprintBits+8, window.CoarseFPR
	if fine {
		cells, bits, rate = layout.FineCells, layout.FineFingerprintBits+6, window.FineFPR
	}
	return func(r *Request, memory int) (Design, error) {
		w := r.windowOf()
		if r.Kind != Count {
			w = window.Window{Duration: window.Default} // most have this error
		}
		d := Design{FPR: rate, Edge: window.CoarseEdgeError(w, fine)}
		spare := window.SpareLines(memory / lineBits)
		if spare == 0 {
			return windowRows(r, memory, cells, bits, d)
		}
		lines := memory / lineBits
		d.Parameters = map[string]int{"lines": lines, "of them spare": spare, "cells": cells, "cell bits": bits}
		d.Bits = lines * lineBits
		rows, own := window.CoarseModel(w, fine), float64(lines-spare)
		d = r.crowded(r.spareRows(d, rows, own), rows, own)
		d.FPR *= d.Lines
		return d, nil
	}
}

// spareRows completes d for lines with spare lines; lines does not count these.
func (r *Request) spareRows(d Design, rows theory.SpareRows, lines float64) Design {
	if r.anchored == nil {
		lost := rows.Lost(r.Window / lines)
		d = r.Finish(d, MissesOf(r.Load.Different, func(different float64) float64 { return lost(different / r.Window) }))
		d.Lines = 1 + rows.Full(r.Window/lines)*r.Load.Fresh
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
		d = r.Finish(d, MissesOf(r.Load.Between, func(between float64) float64 { return lost(between / elements) }))
		if d.FNR = 0; missed > 0 {
			d.FNR = missed / (found + missed)
		}
		d.Lines = 1 + rows.Full(share*elements/lines)*share
		return d
	}
}

// crowded raises the misses of a design to the misses of a fixed population, whose members crowd
// the same lines all the time.
func (r *Request) crowded(d Design, rows theory.SpareRows, lines float64) Design {
	p := theory.Population{Rows: rows, Members: r.Elements / math.Max(r.turns, 1) / lines, Turns: r.turns}
	if r.anchored != nil && p.Crowds() {
		d.FNR = math.Max(d.FNR, p.MissRate())
	}
	return d
}

// leastChange is the rise of the share of insertions from which on it is computed anew.
const leastChange = 1e-3

// windowRows completes d for lines that are rows of the given number of cells, which
// evict the oldest element of a window.
func windowRows(r *Request, memory, cells, cellBits int, d Design) (Design, error) {
	if memory < lineBits {
		return Design{}, errMemory
	}
	lines := memory / lineBits
	d.Parameters = map[string]int{"lines": lines, "cells": cells, "cell bits": cellBits}
	d.Bits, d.Lines = lines*lineBits, 1
	forgotten := func(others float64) float64 { return rowMiss(others, lines, cells) }
	if r.anchored == nil {
		return r.Finish(d, MissesOf(r.Load.Different, forgotten)), nil
	}
	fnr, insertions := r.anchored.rowMisses(r.Window, r.Window/float64(lines), cells)
	d = r.Finish(d, MissesOf(r.Load.Between, func(between float64) float64 { return forgotten(insertions * between) }))
	d.FNR = fnr
	return d, nil
}

// windowOf returns a window of as many elements as the question has.
func (r *Request) windowOf() window.Window {
	if r.Kind == Unbounded {
		return window.Window{None: true}
	}
	return window.Window{Packets: int64(math.Ceil(r.Elements))}
}

// timedRows is window.Timed: lines of six cells with a fingerprint and a time, and spare
// lines for the overflow. Without a window there are no spare lines.
func timedRows(r *Request, memory int) (Design, error) {
	fpr, err := timedFPR(r)
	if err != nil {
		return Design{}, err
	}
	spare := window.SpareLines(memory / lineBits)
	if r.Kind == Unbounded || spare == 0 {
		return windowRows(r, memory, layout.TimedCells, layout.TimedCellBits, Design{FPR: fpr})
	}
	lines := memory / lineBits
	d := Design{
		Parameters: map[string]int{"lines": lines - spare, "spare lines": spare, "cells": layout.TimedCells, "cell bits": layout.TimedCellBits},
		Bits:       lines * lineBits, FPR: fpr,
	}
	rows, own := window.TimedModel(), float64(lines-spare)
	inOrder := own
	if r.Kind != Count {
		own /= lateness(r.Window / own)
	}
	return r.crowded(r.spareRows(d, rows, own), rows, inOrder), nil
}

// lateness returns the factor by which elements that are kept beyond the window, for late
// packets, raise the load of a line. Each counts as half an element: it is the first to leave.
func lateness(load float64) float64 { return 1 + window.Slack(load)/2 }

// timedFPR asks the filter itself for its bound, which depends on how it divides its
// cells for the requested FPR. If it cannot keep that rate, the result is its lowest
// rate.
func timedFPR(r *Request) (float64, error) {
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
