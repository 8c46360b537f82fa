// Package clicks makes the figures of paper "Duplicate Detection in Click Streams"
// (Metwally, Agrawal, El Abbadi, WWW 2005).
//
// Figures 6 and 7 are on synthetic clicks that are all distinct, and are made at their
// printed sizes. Figures 8 and 9 are on clicks of a company, which are not public.
// The paper prints no table; of its figures only ratios and sizes are in the text.
package clicks

import (
	"context"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Experiment returns the figures on synthetic clicks, what sections 4 and 5 describe
// without measuring it, and the numbers of the text.
func Experiment() result.Experiment {
	return result.New("p2", "Duplicate Detection in Click Streams (Metwally, Agrawal, El Abbadi, WWW 2005)",
		result.Maker{Name: "p2.figure6", Make: func(ctx context.Context, o result.Options) (result.Table, error) {
			return figure6(ctx, newLandmarkSetup(o), o.Workers)
		}},
		result.Maker{Name: "p2.figure7", Make: func(ctx context.Context, o result.Options) (result.Table, error) {
			return figure7(ctx, newJumpingSetup(o), o.Workers)
		}},
		result.Maker{Name: "p2.substrings", Make: substrings},
		result.Maker{Name: "p2.functions", Make: functions},
		result.Maker{Name: "p2.latency", Make: latency},
		result.Maker{Name: "p2.sliding", Make: func(ctx context.Context, o result.Options) (result.Table, error) {
			return sliding(ctx, newSlidingSetup(o), o.Workers)
		}},
		result.Maker{Name: "p2.text", Make: func(ctx context.Context, o result.Options) (result.Table, error) {
			return text(ctx, newTextSetup(o), o.Workers)
		}})
}

// mostFunctions is the largest number of hash functions of the figures.
const mostFunctions = 16

// perFunction returns M/d = n/ln(2), the cells for each hash function with which half
// of them are set after n elements.
func perFunction(n int) float64 { return float64(n) / math.Ln2 }

// bound returns 2^-d, the error rate of a filter of which half of the cells are set.
func bound(d int) float64 { return math.Exp2(-float64(d)) }

// count is how many of some new elements were reported as duplicates.
type count struct{ positives, elements int }

func (c *count) add(other count) {
	c.positives += other.positives
	c.elements += other.elements
}

func (c *count) addOne(positive bool) {
	c.elements++
	if positive {
		c.positives++
	}
}

func (c count) rate() float64 { return float64(c.positives) / float64(c.elements) }

// runsFor returns how many runs give the wanted number of errors if one run gives
// expected, or 0 if that is more than most.
func runsFor(wanted, expected float64, most int) int {
	if runs := math.Ceil(wanted / expected); runs <= float64(most) {
		return int(runs)
	}
	return 0
}

// firstElement returns the first element of a run. Runs share no elements if there are
// fewer than 2^16 of less than 2^40 elements.
func firstElement(d, run int) uint64 { return uint64(d)<<56 | uint64(run)<<40 }

// distinct gives a filter n elements, from first on.
func distinct(ctx context.Context, f paper.Filter, first uint64, n int) (count, error) {
	c := count{elements: n}
	for i := range uint64(n) {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return count{}, ctx.Err()
		}
		if f.TestAndSet(stream.Digest(first + i)) {
			c.positives++
		}
	}
	return c, nil
}

// percent returns the cell of a measured rate, or a blank cell if it was not measured.
func percent(c count) result.Cell {
	if c.elements == 0 {
		return result.Cell{Blank: true}
	}
	return result.Measured(100*c.rate(), "%")
}

// over returns the cell of the bound divided by a measured rate, or a blank cell if the
// rate is zero.
func over(bound float64, c count) result.Cell {
	if c.positives == 0 {
		return result.Cell{Blank: true}
	}
	return result.Measured(bound/c.rate(), "")
}
