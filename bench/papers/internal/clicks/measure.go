package clicks

import (
	"context"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// mostFunctions is the largest number of hash functions of the figures.
const mostFunctions = 16

// perFunction returns M/d = n/ln(2), the cells for each hash function with which half
// of them are set after n elements.
func perFunction(n int) float64 { return float64(n) / math.Ln2 }

// bound returns 2^-d, the error rate of a filter of which half of the cells are set.
func bound(d int) float64 { return math.Exp2(-float64(d)) }

// count is how many of so many new elements were reported as duplicates.
type count struct{ positives, elements int }

func (c *count) add(other count) {
	c.positives += other.positives
	c.elements += other.elements
}

func (c count) rate() float64 { return float64(c.positives) / float64(c.elements) }

// runsFor returns how many runs have the wanted number of errors, if expected is that
// of one run, or 0 if those are more than most.
func runsFor(wanted, expected float64, most int) int {
	if runs := math.Ceil(wanted / expected); runs <= float64(most) {
		return int(runs)
	}
	return 0
}

// firstElement returns where the elements of a run begin, so that runs have none in
// common as long as they are fewer than 2^16 of less than 2^40 elements.
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
