package stable

import (
	"context"
	"math"
	"math/rand/v2"
)

// crawl describes one of the paper's three data sets by what is printed of it.
//
// A buffer of c elements misses a repetition if c or more other elements came in
// between: if its stack distance is above c. So the buffering column of Table 2 is
// the distribution of stack distances, and a stream can be drawn from it: an
// element is new with a fixed probability, or else the one of a random stack
// distance. A distance beyond all elements so far becomes that of any of them,
// which on a stream's first part makes for fewer misses than printed.
type crawl struct {
	elements int
	distinct float64 // share
	// points holds the share of repetitions whose stack distance is at most
	// 2^exponent. In between it grows with the logarithm, from 0 for distance 1.
	points []distancePoint
}

type distancePoint struct{ exponent, share float64 }

// draw returns the stream with elements and distances divided by scale, so that
// streams and memory can shrink together.
func (c crawl) draw(ctx context.Context, scale int, seed uint64) (trace, error) {
	n := c.elements / scale
	random := rand.New(rand.NewPCG(seed, 0))
	order := newRecency(n)
	for i := range n {
		if i%batchSize == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if order.live == 0 || random.Float64() < c.distinct {
			order.add()
			continue
		}
		order.use(c.distance(random, scale, order.live))
	}
	return order.atTime, nil
}

// distance draws a stack distance from 1 to live.
func (c crawl) distance(random *rand.Rand, scale, live int) int {
	distance := int(math.Ceil(math.Exp2(c.exponentOf(random.Float64())) / float64(scale)))
	if distance > live {
		return 1 + random.IntN(live)
	}
	return distance
}

// exponentOf returns the exponent up to which a share of the distances lie.
func (c crawl) exponentOf(share float64) float64 {
	low := distancePoint{}
	for _, high := range c.points {
		if share < high.share {
			return low.exponent + (high.exponent-low.exponent)*(share-low.share)/(high.share-low.share)
		}
		low = high
	}
	return low.exponent
}

// newCrawlTrace returns n elements like the data set of 10 million.
func newCrawlTrace(ctx context.Context, n int) (trace, error) {
	c := datasets()[1].crawl()
	c.elements = n
	return c.draw(ctx, 1, streamSeed)
}
