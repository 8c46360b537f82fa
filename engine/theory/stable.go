// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"cmp"
	"fmt"
	"math"
)

// Stable is a stable Bloom filter (DR06, section 3): Cells cells with values up
// to Max; every element decrements P of them and sets its own K to Max.
type Stable struct {
	Cells int // m, more than K
	K     int // at least 1
	P     int // from 1 to Cells
	Max   int // 2^d - 1 for cells of d bits, at least 1
}

func (s Stable) validate() error {
	return cmp.Or(requireStable(s.Cells, s.K, s.Max), requireWithin("P", s.P, 1, s.Cells))
}

func requireStable(cells, k, top int) error {
	return cmp.Or(
		requireAtLeast("cells", cells, 2),
		requireWithin("K", k, 1, cells-1),
		requireAtLeast("Max", top, 1),
	)
}

// Zeros returns the stable point: the expected share of cells that are zero after many
// elements, exact for uniform streams and a lower bound for all others (DR06, Theorem 3).
func (s Stable) Zeros() (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	free := float64(s.P) * (1/float64(s.K) - 1/float64(s.Cells))
	return math.Pow(free/(free+1), float64(s.Max)), nil
}

// FPS returns the upper bound of the false positive rate at any time and for any
// stream, which uniform streams reach: (1 - Zeros)^K (DR06, Eq. 8, Corollaries
// 3 to 5). Streams with Zipf's distribution stay 2 to 5 times below it.
func (s Stable) FPS() (float64, error) {
	zeros, err := s.Zeros()
	if err != nil {
		return 0, err
	}
	return math.Pow(1-zeros, float64(s.K)), nil
}

// ZerosAfter returns the expected share of zero cells after n elements of a
// uniform stream: DR06, Eq. 1 to 5, with p = P/m and k = K/m. It falls from 1
// to [Stable.Zeros]; for Max = 1 it is z + (1-z) ((1-k)(1-p))^n, about
// z + (1-z) e^(-(K+P) n/m). Domain: n >= 0.
func (s Stable) ZerosAfter(n int) (float64, error) {
	if err := cmp.Or(s.validate(), requireAtLeast("n", n, 0)); err != nil {
		return 0, err
	}
	return max(0, 1-s.setSince(float64(n), s.set())), nil
}

// set returns K/m, the probability that an element sets a cell.
func (s Stable) set() float64 { return float64(s.K) / float64(s.Cells) }

// setSince returns the probability that a cell, which each element sets with probability
// k, was set within the last n elements and is not zero yet: k times the sum over l < n of
// (1-k)^l P(Bin(l,p) < Max).
//
// The sum has a closed form. The coefficient of its term for j decrements, C(l,j)
// (p(1-k))^j ((1-k)(1-p))^(l-j), is negative binomial in l: with stop = 1-(1-k)(1-p) it
// sums to (p(1-k)/stop)^j P(Bin(n,stop) > j) / stop. So the time depends on Max, not on
// n.
func (s Stable) setSince(n, k float64) float64 {
	p := float64(s.P) / float64(s.Cells)
	stop := k + p - k*p
	ratio := p * (1 - k) / stop
	sum, weight := 0.0, k/stop
	tail := newBinomialTail(n, stop)
	for range s.Max {
		sum += weight * tail.next()
		weight *= ratio
	}
	return sum
}

// FNR returns the probability that a duplicate is reported as distinct when gap other
// elements of a uniform stream have come since the element's last occurrence (DR06, Eq. 9
// to 14 with k_ij = K/m, which is Eq. 16). It is 0 for gaps below Max. A gap counts the
// elements between the two, so that an element repeated at once has gap 0. The absolute
// error is about 1e-15. Domain: gap >= 0.
func (s Stable) FNR(gap int) (float64, error) {
	return s.FNRAt(gap, s.set())
}

// FNRAt is [Stable.FNR] for an element whose cells are set by each element in between
// with probability set, for example the one from [Stable.SetRate] (DR06, Eq. 9 to 14 and
// 19). Domain: gap >= 0, 0 < set < 1.
func (s Stable) FNRAt(gap int, set float64) (float64, error) {
	if err := cmp.Or(
		s.validate(),
		requireAtLeast("gap", gap, 0),
		requireRate("rate of settings", set),
	); err != nil {
		return 0, err
	}
	if gap < s.Max {
		return 0, nil
	}
	n, p := float64(gap), float64(s.P)/float64(s.Cells)
	untouched := math.Exp(n * math.Log1p(-set))
	alive := s.setSince(n, set) + untouched*binomialUpTo(s.Max-1, n, p)
	return 1 - math.Pow(min(alive, 1), float64(s.K)), nil
}

// SetRate returns the probability k_i with which an element of the stream sets a given
// cell of element i, by DR06, Eq. 18 solved for k_i: share is element i's share of the
// stream, and phi the deviation from their mean of the other elements that share the
// cell. It may be outside of 0 to 1, as the paper's range of phi allows.
//
// The paper counts the element's own share, though none of its copies lies in its gap.
// So with a share above 0 it is too high for [Stable.FNRAt], by as much as 1/gap.
func (s Stable) SetRate(share, phi float64) float64 {
	k := s.set()
	return share + k*(1-share) + phi*math.Sqrt(k*(1-k))
}

// StableP returns the P at which the bound on the false positive rate is fps or less:
// DR06, Eq. 17, rounded up. The paper's examples round down (4.32 to 4), which puts their
// bound above the rate asked for. Domain: cells > k >= 1, top >= 1, 0 < fps < 1. It is
// also an error if more than cells decrements are needed.
func StableP(cells, k, top int, fps float64) (int, error) {
	exact, err := StablePExact(cells, k, top, fps)
	if err != nil {
		return 0, err
	}
	if exact > float64(cells) {
		return 0, fmt.Errorf("theory: a false positive rate of %g needs %.4g decrements for each element, but there are %d cells: %w",
			fps, exact, cells, ErrDomain)
	}
	// An exact whole number may come out a rounding error above itself.
	p := max(1, int(math.Ceil(exact*(1-1e-12))))
	return min(p, cells), nil
}

// StablePExact returns DR06, Eq. 17, before it is rounded to a whole number:
//
//	1 / ((1/(1-fps^(1/k))^(1/top) - 1) (1/k - 1/cells))
//
// Domain: cells > k >= 1, top >= 1, 0 < fps < 1.
func StablePExact(cells, k, top int, fps float64) (float64, error) {
	if err := cmp.Or(requireStable(cells, k, top), requireRate("fps", fps)); err != nil {
		return 0, err
	}
	// (1-x)^(-1/top) - 1 without cancellation, which small x would suffer from.
	odds := math.Expm1(-math.Log1p(-math.Pow(fps, 1/float64(k))) / float64(top))
	return 1 / (odds * (1/float64(k) - 1/float64(cells))), nil
}

// StableBestK returns the K with the smallest false negative rate at the given gap among
// the values that keep the false positive rate at fps or less, and its P (DR06, section
// 4.1). In the paper's Observation 1 this K depends only on top and fps. It does not
// depend on the number of cells. But it depends on the gap: with top = 1 and fps = 0.2 it
// is 1 up to gaps at which 0.7 are missed, and 4 where 0.8 are; with top = 3 and fps =
// 0.01 it is 6 where 0.01 are missed, and 4 from 0.08 on. Domain: cells >= 2, top >= 1, 0
// < fps < 1, gap >= top. It is also an error if no K reaches fps, or if the gap is so
// short that rounding errors hide the rates.
func StableBestK(cells, top int, fps float64, gap int) (Stable, error) {
	if err := cmp.Or(
		requireAtLeast("cells", cells, 2),
		requireAtLeast("gap", gap, max(top, 1)),
	); err != nil {
		return Stable{}, err
	}
	best, found, err := bestStableK(cells, top, fps, []Gap{{Elements: gap, Weight: 1}})
	switch {
	case err != nil:
		return Stable{}, err
	case !found:
		_, err := StableP(cells, min(largestStableK, cells-1), top, fps) // the reason why the last K failed
		return Stable{}, err
	case best.FNR < equalRates:
		return Stable{}, fmt.Errorf("theory: a gap of %d hardly ever leads to a miss, no K stands out: %w", gap, ErrDomain)
	}
	return best.Stable, nil
}

// StableMissFPS returns the limit of the false positive rate of a stable Bloom filter
// with cells of one bit that decrements only on a miss: z^K. (On a hit its K bits are set
// already.) z is the share of set bits at which as many bits are cleared as are set,
//
//	p z (1 - z^K) = K (1 - z)
//
// for a stream of new elements, in the limit of many cells. (Divided by 1-z the left side
// is p times a polynomial that grows with z, so there is one solution below 1.) This is
// DR06, Algorithm 1, with the whole update in its else branch, which is one way to read
// it. The paper's equations are for an update at every element. It trades like a [Stable]
// with a smaller P. Domain: p >= 2, k >= 1. With p = 1 the filter fills up.
func StableMissFPS(p, k int) (float64, error) {
	if err := cmp.Or(requireAtLeast("P", p, 2), requireAtLeast("K", k, 1)); err != nil {
		return 0, err
	}
	low, high := 0.0, 1.0
	for range 64 {
		if z := (low + high) / 2; float64(p)*geometric(z, k) < float64(k) {
			low = z
		} else {
			high = z
		}
	}
	return math.Pow(high, float64(k)), nil
}

// geometric returns z + z^2 + ... + z^k.
func geometric(z float64, k int) float64 {
	sum := 0.0
	for range k {
		sum = z * (1 + sum)
	}
	return sum
}

// Gap is one value of a stream's gap distribution: the number of elements between a
// duplicate and the element's last occurrence.
type Gap struct {
	Elements int     // at least 0; 0 if an element is repeated at once
	Weight   float64 // number or share of the duplicates with this gap; at least 0
}

// StableChoice is a filter with cells of CellBits bits and the miss rate to expect.
type StableChoice struct {
	Stable
	CellBits int     // d; Max is 2^d - 1
	FNR      float64 // see [Stable.MeanFNR]
}

// maxStableCellBits bounds d: a larger Max would need some hundred thousand
// decrements for each element.
const maxStableCellBits = 16

// largestStableK bounds the search for K. The best K is below 10 for all rates
// that DR06 treats (Observation 1).
const largestStableK = 32

// equalRates is a difference of rates that comes from rounding.
const equalRates = 1e-12

// MeanFNR returns the share of duplicates that are reported as distinct, for duplicates
// with the given gaps: the mean of [Stable.FNR], which is DR06, Eq. 15 divided by the
// number of duplicates. (Eq. 16 has a single average gap instead, which is not known in
// advance.) Weights need not add up to 1. Its time grows with Max times the number of
// gaps. Domain: at least one gap with a weight above 0, a finite sum of weights.
func (s Stable) MeanFNR(gaps []Gap) (float64, error) {
	total, err := totalWeight(gaps)
	if err != nil {
		return 0, err
	}
	mean := 0.0
	for _, g := range gaps {
		fnr, err := s.FNR(g.Elements)
		if err != nil {
			return 0, err
		}
		mean += g.Weight / total * fnr
	}
	return min(mean, 1), nil
}

func totalWeight(gaps []Gap) (total float64, err error) {
	for i, g := range gaps {
		if err := cmp.Or(
			requireAtLeast(fmt.Sprintf("gap %d", i), g.Elements, 0),
			require(g.Weight >= 0, fmt.Sprintf("weight of gap %d", i), g.Weight, "0 or more"),
		); err != nil {
			return 0, err
		}
		total += g.Weight
	}
	return total, require(total > 0 && !math.IsInf(total, 1), "sum of the weights of gaps", total, "finite and above 0")
}

// StableByCellBits returns, for each d from 1 to cellBits, the filter of bits/d cells
// with Max = 2^d - 1 that misses the fewest duplicates with these gaps among the filters
// that keep the false positive rate at fps or less (DR06, section 4.1, "The setting of
// Max"). Every d has its own best K; [StableP] gives P. It leaves out values of d for
// which no filter reaches fps. Of filters with equal misses it takes the one with the
// smallest K.
//
// Larger cells keep elements for a time that varies less: they miss fewer at short gaps
// and more at long ones. They take longer, since P grows with Max. The paper considers
// cellBits = 3, and advises d = 1 if the gaps are unknown.
//
// Its time grows with 2^cellBits times the number of gaps. A histogram with some dozens
// of values is enough. Domain: bits >= 2, 1 <= cellBits <= 16, 0 < fps < 1, gaps as for
// [Stable.MeanFNR]. It is also an error if no filter reaches fps.
func StableByCellBits(bits, cellBits int, fps float64, gaps []Gap) ([]StableChoice, error) {
	_, err := totalWeight(gaps)
	if err := cmp.Or(
		requireAtLeast("bits", bits, 2),
		requireWithin("cell bits", cellBits, 1, maxStableCellBits),
		requireRate("fps", fps),
		err,
	); err != nil {
		return nil, err
	}
	var choices []StableChoice
	for d := 1; d <= cellBits; d++ {
		best, found, err := bestStableK(bits/d, 1<<d-1, fps, gaps)
		if err != nil {
			return nil, err
		}
		if best.CellBits = d; found {
			choices = append(choices, best)
		}
	}
	if len(choices) == 0 {
		return nil, fmt.Errorf("theory: no stable Bloom filter of %d bits has a false positive rate of %g or less: %w", bits, fps, ErrDomain)
	}
	return choices, nil
}

// bestStableK tries all K for cells up to top. found is false if none reaches fps.
func bestStableK(cells, top int, fps float64, gaps []Gap) (best StableChoice, found bool, err error) {
	for k := 1; k <= min(largestStableK, cells-1); k++ {
		p, err := StableP(cells, k, top, fps)
		if err != nil {
			continue // more decrements than cells: too small for this rate
		}
		s := Stable{Cells: cells, K: k, P: p, Max: top}
		fnr, err := s.MeanFNR(gaps)
		if err != nil {
			return StableChoice{}, false, err
		}
		if !found || fnr < best.FNR-equalRates {
			best, found = StableChoice{Stable: s, FNR: fnr}, true
		}
	}
	return best, found, nil
}

// StableBestMax returns the best of [StableByCellBits], with the same domain. Of equals
// it takes the one with the smallest cells, which updates fastest.
func StableBestMax(bits, cellBits int, fps float64, gaps []Gap) (StableChoice, error) {
	choices, err := StableByCellBits(bits, cellBits, fps, gaps)
	if err != nil {
		return StableChoice{}, err
	}
	best := choices[0]
	for _, c := range choices[1:] {
		if c.FNR < best.FNR-equalRates {
			best = c
		}
	}
	return best, nil
}
