// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"cmp"
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
