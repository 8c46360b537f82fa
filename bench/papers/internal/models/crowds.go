// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// crowd is a kind of row, by the number of other elements that come to an element's row.
type crowd struct {
	others float64
	of     float64 // elements of the stream
	chance float64 // that an element's row is of this kind
	// filled is how long, up to each grid position of the stream, the element and the others
	// have filled the row on average. It is nil without an end.
	filled *[finiteSteps + 1]float64
}

// crowds returns the kinds of rows that evict elements. In a finite stream the number of
// others has a Poisson distribution, and rows with fewer than k never evict any. In a stream
// without an end ever more others come, and all rows are alike.
func (l *Load) crowds(rows float64, k int) []crowd {
	if l.Length == 0 {
		const endless = 1 << 80
		return []crowd{{others: endless / rows, of: endless, chance: 1}}
	}
	of := l.Fresh * l.Length
	mean := of / rows
	deviation := math.Sqrt(mean)
	step := max(1, int(deviation/4))
	n := max(k, int(mean-8*deviation))
	var all []crowd
	for tail, sum := theory.PoissonTail(n, mean), 0.0; tail > 1e-6*sum; n += step {
		rest := theory.PoissonTail(n+step, mean)
		c := crowd{others: float64(n) + float64(step-1)/2, of: of, chance: tail - rest}
		c.filled = l.filled(c, k)
		all = append(all, c)
		sum, tail = sum+c.chance, rest
	}
	return all
}

// filled returns the times of a crowd: k-1 of the others have to come.
func (l *Load) filled(c crowd, k int) *[finiteSteps + 1]float64 {
	var sum [finiteSteps + 1]float64
	before := 0.0
	for i := 1; i <= finiteSteps; i++ {
		at := l.stepAt(i)
		full := theory.BinomialTail(k-1, c.others, math.Min(1, l.DifferentIn(at)/c.of))
		sum[i] = sum[i-1] + (at-l.stepAt(i-1))*(before+full)/2
		before = full
	}
	return &sum
}

// fullAmid returns the probability that a row is full in the middle of a gap, which lies
// anywhere in the stream. As misses grow with the time in a full row, this is their share.
func (l *Load) fullAmid(c crowd, gap float64) float64 {
	if c.filled == nil {
		return 1
	}
	gap = math.Min(gap, (1-leastRoom)*l.Length)
	first, last := gap/2, l.Length-gap/2
	return (l.interpolate(c.filled, last, finiteSteps) - l.interpolate(c.filled, first, finiteSteps)) / (last - first)
}

// randomMisses returns the misses of rows of k cells in which elements reported distinct evict
// a random one.
func randomMisses(l *Load, rows float64, k int, fingerprints float64) Misses {
	m := make(Misses, len(l.Between))
	for _, c := range l.crowds(rows, k) {
		for i, missed := range l.crowdMisses(c, k, fingerprints) {
			m[i] += c.chance * missed * l.fullAmid(c, l.Between[i])
		}
	}
	return m
}

// crowdMisses returns the misses of full rows. It computes rows of 1 to k cells in turn. While
// an element is in its row, the others share one cell less, or are one fewer and come to a
// row of one cell less. It is evicted at the rate at which such a row reports them as
// distinct. In a row of one cell the next distinct element always evicts it. For others that
// come equally often this gives the miss rate of random eviction, 1-k/(others+1) (Gelenbe, A
// Unified Approach to the Evaluation of a Class of Replacement Algorithms, IEEE Transactions on
// Computers, 1973).
func (l *Load) crowdMisses(c crowd, k int, fingerprints float64) Misses {
	m := make(Misses, len(l.Between))
	early, longest := 1-l.SteadyFresh/l.Fresh, l.GridAt(l.Length)
	for cells := 1; cells <= k; cells++ {
		others := c.others - float64(k-cells)
		kept := math.Max(0, 1-float64(cells)/fingerprints)
		// Elements that seem new only because the stream began late return after its length.
		reports := l.SteadyFresh * (early*m[longest] + (1-early)*math.Max(0, 1-float64(cells-1)/fingerprints))
		for b, w := range l.Bins {
			reports += l.RepeatsAt[b] * m[w.At]
		}
		for i, t := range l.Between {
			evictions := reports * t * others / c.of / float64(cells)
			if cells == 1 {
				evictions = -others * math.Log1p(-math.Min(l.Different[i]/c.of, 1-1e-16))
			}
			m[i] = -math.Expm1(-evictions) * kept
		}
	}
	return m
}
