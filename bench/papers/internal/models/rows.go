// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	leastRowBits = 4  // of a fingerprint in LRU rows
	mostRowBits  = 64 // a whole word
	mostRows     = 32 // of a line
)

// anyRows are LRU rows, as of stream.New, with cells of any width. A row is a whole line or an
// equal part of one.
func anyRows(r *Request, memory int) (Design, error) {
	b := best{request: r}
	for parts := 1; parts <= mostRows; parts++ {
		rowBits := lineBits / parts
		if r.Fixed.Cells != 0 {
			width := r.Fixed.CellBits
			if width == 0 {
				width = min(mostRowBits, rowBits/r.Fixed.Cells)
			}
			b.add(lruRowsOf(r, memory, parts, r.Fixed.Cells, width))
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
func lruRowsOf(r *Request, memory, parts, cells, width int) (Design, error) {
	switch {
	case width < 1 || width > mostRowBits:
		return Design{}, impossible("cells of %d bits in rows of %d, must be from 1 to %d", width, cells, mostRowBits)
	case cells*width*parts > lineBits:
		return Design{}, impossible("rows of %d cells of %d bits are %d bits, must be at most the %d of a cache line: at most %d cells of these, or of %d bits",
			cells, width, cells*width, lineBits, lineBits/width, lineBits/cells)
	case memory < lineBits:
		return Design{}, tooSmall(memory, lineBits, "a cache line")
	}
	lines := memory / lineBits
	rows := lines * parts
	fpr := rowFPR(cells, width)
	return r.Finish(Design{
		Parameters: map[string]int{"lines": lines, "rows of a line": parts, "cells": cells, "cell bits": width},
		Bits:       lines * lineBits,
		FPR:        fpr,
		Lines:      1,
	}, sizing.MissesOf(r.Load.Different, func(different float64) float64 {
		return rowMiss(different, rows, cells) * (1 - fpr)
	})), nil
}

// rowFPR is the probability that a full row contains the fingerprint of a new element;
// one code stands for an empty cell.
func rowFPR(cells, width int) float64 {
	return math.Min(1, float64(cells)/(math.Exp2(float64(width))-1))
}

// rowMiss is the probability that a row has lost an element after the given number of
// distinct others came into all rows.
func rowMiss(different float64, rows, cells int) float64 {
	return theory.PoissonTail(cells, different/float64(rows))
}
