// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"math"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// The models of this file describe the papers' filters as package engine builds them: an
// element touches a single cache line. They use the parameters that fit a line and the
// filters' own bounds.

// stream returns the complete configuration that stream.New uses with the given number of
// bits. It returns an error if the parameters do not fit a line or cannot keep the rate.
func (r *request) stream(c stream.Config, bits int) (full stream.Config, lines int, err error) {
	if bits < lineBits {
		return c, 0, tooSmall(bits, lineBits, "a cache line")
	}
	c.Memory = bits / lineBits * (lineBits / 8)
	if full, err = c.Complete(); err != nil {
		return full, 0, impossible("%w; %s-paper is the published form, which takes more", err, c.Method)
	}
	return full, bits / lineBits, nil
}

// stableLines is the stable Bloom filter in lines. P is the least that keeps the bound.
func stableLines(r *request, bits int) (design, error) {
	b := best{request: r}
	for _, width := range choices(r.Fixed.CellBits, 1, mostStableBits) {
		for _, k := range choices(r.Fixed.K, 1, layout.MaxCellK) {
			c := stream.Config{Method: "sbf", K: k, P: r.Fixed.P, Max: 1<<width - 1}
			if c.P == 0 {
				c.FPR = r.FPR
			}
			full, lines, err := r.stream(c, bits)
			if errors.Is(err, engine.ErrFPR) { // the closest possible to the bound
				c.FPR, c.P = 0, min(layout.MaxStableRun, lineBits/width)
				full, lines, err = r.stream(c, bits)
			}
			if err != nil {
				b.add(design{}, err)
				continue
			}
			b.add(r.stableLinesOf(full, lines), nil)
		}
	}
	return b.result()
}

// stableLinesOf is the design of a filter. Cells of one bit are cleared only for elements
// reported distinct, wider cells decremented for all.
func (r *request) stableLinesOf(c stream.Config, lines int) design {
	cells, clearing := lineBits, float64(c.P)/float64(lineBits*lines)
	var at rates
	if c.Max == 1 {
		cells -= lineBits % c.K // parts are equal
		at = fixedPoint(r.load, c.K, float64(c.K)/float64(cells*lines), clearing, func(at rates) float64 {
			return clearing * at.distinctReports(r.load)
		})
	} else {
		cells /= cellWidth(c.Max)
		clearing *= float64(cellWidth(c.Max))
		at = ratesOf(r.load, cell{setting: float64(c.K) / float64(cells*lines), clearing: clearing, top: c.Max}, c.K)
	}
	return r.finish(design{
		parameters: []Parameter{{"K", c.K}, {"P", c.P}, {"Max", c.Max}, {"cells", cells * lines}},
		bits:       lines * lineBits,
		fpr:        c.FPR,
		lines:      1,
	}, at.misses())
}

// cellWidth returns the bits that a cell takes in a line.
func cellWidth(most int) int {
	if most <= 3 {
		return 2
	}
	return 4
}

// biasedLines is a filter of bits in lines. In an endless stream it keeps the filter's
// own rate, in a finite one the model's. Lines differ in how full they are, which raises
// the model's rate as it does the filter's.
func biasedLines(method string, at biasedRates) model {
	return func(r *request, bits int) (design, error) {
		b := best{request: r}
		for _, k := range choices(r.Fixed.K, 1, layout.MaxStableParts) {
			c, lines, err := r.stream(stream.Config{Method: method, K: k}, bits)
			if err != nil {
				b.add(design{}, err)
				continue
			}
			s := lineBits / k * lines
			result := at(r, k, float64(s))
			if r.load.length == 0 {
				result.fpr = c.FPR
			} else {
				result.fpr = unevenFPR(result.fpr, k)
			}
			b.add(result.finish(r, design{
				parameters: []Parameter{{"K", k}, {"s", s}},
				bits:       lines * lineBits,
				fpr:        result.fpr,
				lines:      1,
			}), nil)
		}
		return b.result()
	}
}

// unevenFPR returns the mean rate of lines, given the rate of k bits with the mean share:
// see stream.Stats.
func unevenFPR(rate float64, k int) float64 {
	if rate == 0 {
		return 0
	}
	set := math.Pow(rate, 1/float64(k))
	return math.Min(1, rate*(1+float64(k*(k-1))/2*(1-set)/(set*lineBits)))
}

// quotientLines is a quotient hash table whose rows have one of the shapes that fit a
// line. missed returns the misses of a table with the given number of rows.
func quotientLines(missed func(r *request, rows int, s stream.Shape) outcome) model {
	return func(r *request, bits int) (design, error) {
		b := best{request: r}
		for _, s := range stream.Shapes() {
			if r.Fixed.Cells != 0 && r.Fixed.Cells != s.Cells() || r.Fixed.CellBits != 0 && r.Fixed.CellBits != s.CellBits() {
				continue
			}
			lines := bits / lineBits
			if lines < 1 {
				return design{}, tooSmall(bits, lineBits, "a cache line")
			}
			rows := lines * s.RowsPerLine()
			b.add(missed(r, rows, s).finish(r, design{
				parameters: []Parameter{{"rows", rows}, {"cells", s.Cells()}, {"cell bits", s.CellBits()}},
				bits:       lines * lineBits,
				fpr:        s.FPR(),
				lines:      1,
			}), nil)
		}
		if !b.found && b.err == nil {
			return design{}, impossible("rows of %d cells of %d bits are none of the engine's; the published form, such as qht-paper, takes others", r.Fixed.Cells, r.Fixed.CellBits)
		}
		return b.result()
	}
}

func randomLines(r *request, rows int, s stream.Shape) outcome {
	return r.load.outcome(randomMisses(r.load, float64(rows), s.Cells(), math.Exp2(float64(s.CellBits()))-1))
}

func queuedLines(r *request, rows int, s stream.Shape) outcome {
	return r.load.outcome(latestMisses(r.load, rows, s.Cells(), s.FPR()))
}

func randomCopiesLines(r *request, rows int, s stream.Shape) outcome {
	return r.load.outcome(copiesMisses(r.load, rows, s.Cells(), s.FPR()))
}

func queuedOnceLines(r *request, rows int, s stream.Shape) outcome {
	return queuedMisses(r, float64(rows), s.Cells(), s.FPR())
}

// partitionedLines is window.Partitioned.
func partitionedLines(r *request, bits int) (design, error) {
	lines := bits / lineBits
	if lines < 1 {
		return design{}, tooSmall(bits, lineBits, "a cache line")
	}
	d := design{bits: lines * lineBits, fpr: math.Inf(1), lines: 1}
	for _, k := range choices(r.Fixed.K, 2, layout.MaxPartitionedK) {
		if k > layout.MaxPartitionedK {
			return design{}, impossible("K is %d, must be from 1 to %d", k, layout.MaxPartitionedK)
		}
		generations := layout.PartitionedSlices - k
		load := math.Min(1e6, r.inserted(r.Elements*(1+1/float64(generations)))/float64(lines))
		fpr := 1.0
		if load < fullLine {
			var err error
			fpr, err = theory.AgePartitioned{K: k, L: generations, SliceBits: lineBits / 64}.LineFPR(load)
			if err != nil {
				return design{}, impossible("%w", err)
			}
		}
		if fpr > 2*d.fpr {
			break // the rate rises from the best K on
		}
		if fpr < d.fpr {
			d.fpr, d.edge = fpr, float64(k)/float64(generations)
			d.parameters = []Parameter{{"K", k}, {"generations", generations}}
		}
	}
	return r.complete(d), nil
}

// fullLine is a number of elements at which a line of partitions takes all others for
// repeats.
const fullLine = 100

// timersLines is window.Timers, for windows that slide.
func timersLines(r *request, bits int) (design, error) {
	width := timerBits
	if r.Fixed.CellBits != 0 {
		width = r.Fixed.CellBits
	}
	lines := bits / lineBits
	switch {
	case width != 8 && width != 16:
		return design{}, impossible("timers of %d bits, must be of 8 or 16; timers-paper takes others", width)
	case lines < 1:
		return design{}, tooSmall(bits, lineBits, "a cache line")
	}
	ticks := 1<<(width-1) - 2
	load := r.inserted(r.Elements*(1+1/float64(ticks))) / float64(lines)
	best, k := math.Inf(1), 0
	for _, of := range choices(r.Fixed.K, 1, layout.MaxCellK) {
		fpr, err := theory.EighthsFilter{Cells: lineBits / width, K: of}.FPR(load)
		if err != nil {
			return design{}, impossible("K is %d, must be from 1 to %d; timers-paper takes more", of, layout.MaxCellK)
		}
		if fpr < best {
			best, k = fpr, of
		}
	}
	return r.complete(design{
		parameters: []Parameter{{"K", k}, {"counters", lines * lineBits / width}, {"counter bits", width}, {"ticks", ticks}},
		bits:       lines * lineBits,
		fpr:        best,
		lines:      1,
		edge:       1 / float64(ticks),
	}), nil
}
