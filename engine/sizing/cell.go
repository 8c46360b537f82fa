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

// Cell is a unit of memory that elements set and that is cleared at random times: a bit,
// a counter that counts down, or the presence of a fingerprint in its row. Time is
// counted in elements.
type Cell struct {
	Setting  float64 // probability that a given element sets it
	Clearing float64 // rate of its decrements
	Top      int     // decrements that clear it
}

// clear returns, by grid position, the probability that the cell is clear when an element
// that set it returns. It sums the probability that the cell was cleared within t over
// the time t since it was last set, which is the time since the last of the distinct
// elements that set it.
func (c Cell) clear(l *Load) Misses {
	m := make(Misses, len(l.Between))
	sum, unset, cleared := 0.0, 1.0, 0.0
	for i, t := range l.Between {
		clearedBy := theory.PoissonTail(c.Top, c.Clearing*t)
		unsetSince := math.Exp(-c.Setting * l.Different[i])
		sum += (unset - unsetSince) * (cleared + clearedBy) / 2
		m[i] = math.Min(1, sum+unsetSince*clearedBy)
		unset, cleared = unsetSince, clearedBy
		if unset < 1e-16 {
			for j := i + 1; j < len(m); j++ {
				m[j] = m[i]
			}
			break
		}
	}
	return m
}

// Rates are the steady state of a filter that reports an element as a repeat if its k
// cells are all set.
type Rates struct {
	Clear Misses // probability that a cell of an element that returns is clear
	K     int
	Set   float64 // probability that a cell is set, which new elements find
	FPR   float64
}

// RatesOf returns the rates of a filter of such cells.
func RatesOf(l *Load, c Cell, k int) Rates {
	clear := c.clear(l)
	set := 1 - clear[len(clear)-1]
	return Rates{Clear: clear, K: k, Set: set, FPR: math.Pow(set, float64(k))}
}

// Misses returns, by grid position, the probability that a repeat is missed: at least one of its K cells
// is clear.
func (r Rates) Misses() Misses {
	return MissesOf(r.Clear, func(clear float64) float64 { return -math.Expm1(float64(r.K) * math.Log1p(-clear)) })
}

// DistinctReports returns the share of elements that are reported distinct.
func (r Rates) DistinctReports(l *Load) float64 {
	return l.Fresh*(1-r.FPR) + (1-l.Fresh)*l.FNR(r.Misses())
}

// FixedPoint finds the rate of clearings that reproduces itself. next returns the rate of
// clearings that follows from given rates; most bounds it. If clearings cannot keep up
// with the bits that are set, the filter fills up and reports everything as a repeat.
func FixedPoint(l *Load, k int, setting, most float64, next func(Rates) float64) Rates {
	var at Rates
	excess := func(logClearing float64) float64 {
		at = RatesOf(l, Cell{Setting: setting, Clearing: math.Exp(logClearing), Top: 1}, k)
		return math.Log(next(at)) - logClearing
	}
	const little = 1e-3 // of excess, about the error of the grid
	low, high := math.Log(most)-15, math.Log(most)
	if excess(low) < little {
		return Rates{Clear: make(Misses, len(l.Between)), K: k, Set: 1, FPR: 1}
	}
	theory.FallingRoot(low, high, excess)
	return at
}

const (
	mostStableBits = 4 // Max up to 15; larger counters gain nothing in the paper
	lineBits       = 512
)

// stableLines is the stable Bloom filter as package stream builds it, in lines. It tries each K and
// Max with the least P that keeps the bound, and takes the design with the fewest misses.
func stableLines(r *Request, bits int) (Design, error) {
	lines := bits / lineBits
	if lines < 1 {
		return Design{}, errMemory
	}
	var best Design
	for width := 1; width <= mostStableBits; width++ {
		for k := 1; k <= layout.MaxCellK; k++ {
			c := stream.Config{Method: "sbf", K: k, FPR: r.FPR, Max: 1<<width - 1, Memory: lines * (lineBits / 8)}
			full, err := c.Complete()
			if errors.Is(err, engine.ErrFPR) { // the closest possible to the bound
				c.FPR, c.P = 0, min(layout.MaxStableRun, lineBits/width)
				full, err = c.Complete()
			}
			if err != nil {
				continue
			}
			if d := r.stableLinesOf(full, lines); best.Bits == 0 || r.Better(d, best) {
				best = d
			}
		}
	}
	return best, nil
}

// stableLinesOf is the design of a filter. Cells of one bit are cleared only for elements
// reported distinct, wider cells decremented for all.
func (r *Request) stableLinesOf(c stream.Config, lines int) Design {
	cells, clearing := lineBits, float64(c.P)/float64(lineBits*lines)
	var at Rates
	if c.Max == 1 {
		cells -= lineBits % c.K // parts are equal
		at = FixedPoint(r.Load, c.K, float64(c.K)/float64(cells*lines), clearing, func(at Rates) float64 {
			return clearing * at.DistinctReports(r.Load)
		})
	} else {
		cells /= cellWidth(c.Max)
		clearing *= float64(cellWidth(c.Max))
		at = RatesOf(r.Load, Cell{Setting: float64(c.K) / float64(cells*lines), Clearing: clearing, Top: c.Max}, c.K)
	}
	return r.Finish(Design{
		Parameters: map[string]int{"K": c.K, "P": c.P, "Max": c.Max, "cells": cells * lines},
		Bits:       lines * lineBits,
		FPR:        c.FPR,
		Lines:      1,
	}, at.Misses())
}

// cellWidth returns the bits that a cell takes in a line.
func cellWidth(most int) int {
	if most <= 3 {
		return 2
	}
	return 4
}

const (
	words = lineBits / 64
	// firstShare is the share of the bound on the FPR that the first sub-filter of a
	// distinct.ScalableBloom takes. If the memory is chosen well, there is no second.
	firstShare = 0.2
	// decisions is how many elements come between two decisions of a filter to grow.
	decisions = 512
)

// bloomLines is distinct.ScalableBloom with memory for the whole window from the start:
// lines in which an element has one bit a round in each of eight words. Its first sub-filter
// takes a fifth of the rate, and the others, which it never starts, the rest. So it keeps
// the rate even if more elements come than were planned.
func bloomLines(r *Request, memory int) (Design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return Design{}, errMemory
	}
	block, most, err := theory.BestSplitBlock(firstShare * r.FPR)
	if err != nil {
		return Design{}, err
	}
	rounds := block.Rounds
	load := r.Window / float64(lines)
	if loadWithSlack(block, load, float64(lines)) > most {
		// It would grow, and keep the bound in more memory than there is.
		return Design{}, errMemory
	}
	return r.Complete(Design{
		Parameters: map[string]int{"lines": lines, "K": words * rounds},
		Bits:       lines * lineBits, FPR: block.FPR(load), Lines: 1,
	}), nil
}

// loadWithSlack is the load for which a filter must be sized to hold a load without
// growing. It allows for the elements until the next decision to grow, all of them with
// new bits, and for a count of set bits four standard deviations above the mean.
func loadWithSlack(block theory.SplitBlock, load, lines float64) float64 {
	bits := lines * lineBits
	slack := float64(decisions*words*block.Rounds) + 2*math.Sqrt(bits)
	return block.LoadOfDensity(block.Density(load) + slack/bits)
}
