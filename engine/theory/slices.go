package theory

import (
	"fmt"
	"math"
)

// Sliced is a Bloom filter that is spread over sites (KNPS, section 3.1). Horizontal
// slices are small filters, and an element's hash chooses one. Vertical slices are parts
// of one large filter, so an element's K bits may lie in several.
type Sliced struct {
	Bits   int // m in all, at least Slices
	K      int // at least 1
	Slices int // S, at least 1
}

func (s Sliced) validate() error {
	if err := requireAtLeast("slices", s.Slices, 1); err != nil {
		return err
	}
	if err := requireAtLeast("bits", s.Bits, s.Slices); err != nil {
		return err
	}
	return requireAtLeast("K", s.K, 1)
}

// requireWithin reports an error unless least <= value <= most.
func requireWithin(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("theory: %s is %d, must be from %d to %d: %w", name, value, least, most, ErrDomain)
	}
	return nil
}

// failedShare returns f/S.
func (s Sliced) failedShare(failed int) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireWithin("failed slices", failed, 0, s.Slices); err != nil {
		return 0, err
	}
	return float64(failed) / float64(s.Slices), nil
}

// HorizontalFPR returns the false positive rate of horizontal slices after n distinct
// elements that are spread evenly: (1-(1-S/m)^(k n/S))^k (KNPS, Eq. 4). It is also that
// of every other way to choose slices (Proposition 2); [Sliced.SplitFPR] does not assume
// even spread. That of vertical slices is [BloomFPR] (Eq. 3). Domain: n >= 0.
func (s Sliced) HorizontalFPR(n int) (float64, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 0); err != nil {
		return 0, err
	}
	set := powMinus(float64(s.Slices)/float64(s.Bits), float64(s.K)*float64(n)/float64(s.Slices))
	return math.Pow(set, float64(s.K)), nil
}

// HorizontalFailedFPR returns the false positive rate when elements of the failed
// slices are reported as duplicates: f/S + (1-f/S) p (KNPS, Eq. 5), where p is the
// rate without failures. Domain: 0 <= failed <= Slices, 0 <= p <= 1.
func (s Sliced) HorizontalFailedFPR(failed int, p float64) (float64, error) {
	share, err := s.failedShare(failed)
	if err != nil {
		return 0, err
	}
	if err := requireShare("p", p); err != nil {
		return 0, err
	}
	return share + (1-share)*p, nil
}

// VerticalFailedFPR returns the false positive rate when bits in failed slices are
// taken as set: (f/S + (1-f/S) p^(1/k))^k (KNPS, Eq. 6), where p is the rate
// without failures. For diced filters, which are sliced both ways, Slices is S S':
// Eq. 7, whose second f/S lacks the S'. Domain: 0 <= failed <= Slices,
// 0 <= p <= 1.
func (s Sliced) VerticalFailedFPR(failed int, p float64) (float64, error) {
	share, err := s.failedShare(failed)
	if err != nil {
		return 0, err
	}
	if err := requireShare("p", p); err != nil {
		return 0, err
	}
	k := float64(s.K)
	return math.Pow(share+(1-share)*math.Pow(p, 1/k), k), nil
}

// VerticalHybrid returns the rates when an element is a duplicate if none of its bits
// in working slices is clear and at least atLeast of its bits are in working
// slices (KNPS, section 3.2, vertical fault tolerance heuristic):
//
//	fpr = sum for i = x .. k of C(k,i) (1-f/S)^i (f/S)^(k-i) p^(i/k)
//	fnr = sum for i < x of C(k,i) (1-f/S)^i (f/S)^(k-i)
//
// The paper prints neither binomial coefficient and, for fpr, no sum; its own
// measurements follow the formulas given here. atLeast = k is the rule by which
// a missing bit makes an element distinct, with fnr = 1-(1-f/S)^k, which is the sum
// in the paper's text with the coefficient C(k,i) that it lacks. atLeast = 0 is the
// rule of [Sliced.VerticalFailedFPR]. Domain: 0 <= failed <= Slices, 0 <= p <= 1,
// 0 <= atLeast <= K.
func (s Sliced) VerticalHybrid(failed int, p float64, atLeast int) (fpr, fnr float64, err error) {
	share, err := s.failedShare(failed)
	if err != nil {
		return 0, 0, err
	}
	if err := requireShare("p", p); err != nil {
		return 0, 0, err
	}
	if err := requireWithin("least bits in working slices", atLeast, 0, s.K); err != nil {
		return 0, 0, err
	}
	bit := math.Pow(p, 1/float64(s.K))
	// With p^(i/k) inside, the sum is a binomial tail again, of chance live.
	live := (1 - share) * bit
	either := share + live
	if either == 0 {
		return 0, binomialUpTo(atLeast-1, float64(s.K), 1), nil
	}
	fpr = math.Pow(either, float64(s.K)) * (1 - binomialUpTo(atLeast-1, float64(s.K), live/either))
	return max(0, fpr), binomialUpTo(atLeast-1, float64(s.K), 1-share), nil
}

// HorizontalTolerance returns S_f: with so many horizontal slices the false positive rate
// stays within most when failed of them fail: f (1-p)/(most-p), rounded up (KNPS,
// Definition 3, Eq. 5 solved for S). Domain: failed >= 0, 0 < p < most < 1.
func HorizontalTolerance(failed int, p, most float64) (int, error) {
	return tolerance(failed, p, most)
}

// VerticalTolerance is [HorizontalTolerance] for vertical slices and k hash
// functions: f (1-p^(1/k))/(most^(1/k)-p^(1/k)), rounded up (KNPS, Definition 3,
// Eq. 6 solved for S). Domain: k >= 1, failed >= 0, 0 < p < most < 1.
func VerticalTolerance(failed, k int, p, most float64) (int, error) {
	if err := requireAtLeast("k", k, 1); err != nil {
		return 0, err
	}
	return tolerance(failed, math.Pow(p, 1/float64(k)), math.Pow(most, 1/float64(k)))
}

func tolerance(failed int, p, most float64) (int, error) {
	if err := requireRate("p", p); err != nil {
		return 0, err
	}
	if !(most > p && most < 1) {
		return 0, fmt.Errorf("theory: highest rate is %g, must be between p, which is %g, and 1: %w", most, p, ErrDomain)
	}
	return slicesFor(failed, p, most)
}

// slicesFor solves Eq. 5 for S, with 0 <= p < most.
func slicesFor(failed int, p, most float64) (int, error) {
	if err := requireAtLeast("failed slices", failed, 0); err != nil {
		return 0, err
	}
	slices := float64(failed) * (1 - p) / (most - p)
	if slices > math.MaxInt32 {
		return 0, fmt.Errorf("theory: %.3g slices: highest rate is too close to p: %w", slices, ErrDomain)
	}
	return max(1, int(math.Ceil(slices*(1-1e-12)))), nil
}

// Diced is a Bloom filter that is sliced both ways (KNPS, section 3.3): an h-v diced
// filter has horizontal slices that are sliced vertically, a v-h diced one the reverse.
type Diced struct {
	Bits   int // m in all, at least Slices Inner
	K      int // at least 1
	Slices int // S, at least 1
	Inner  int // S', at least 1
}

func (d Diced) sites() (Sliced, error) {
	if err := requireAtLeast("inner slices", d.Inner, 1); err != nil {
		return Sliced{}, err
	}
	if err := requireWithin("slices", d.Slices, 1, max(1, d.Bits/d.Inner)); err != nil {
		return Sliced{}, err
	}
	return Sliced{Bits: d.Bits, K: d.K, Slices: d.Slices * d.Inner}, nil
}

// HVFPR returns the false positive rate of an h-v diced filter after n distinct elements:
// that of horizontal slices, since the vertical slicing changes nothing, (1-(1-S/m)^(k
// n/S))^k. KNPS leaves out the outer exponent. Domain: n >= 0.
func (d Diced) HVFPR(n int) (float64, error) {
	if _, err := d.sites(); err != nil {
		return 0, err
	}
	return Sliced{Bits: d.Bits, K: d.K, Slices: d.Slices}.HorizontalFPR(n)
}

// VHFPR returns the false positive rate of a v-h diced filter after n distinct
// elements, (1-(1-S S'/m)^(k n/(S S')))^k (KNPS, section 3.3). Domain: n >= 0.
func (d Diced) VHFPR(n int) (float64, error) {
	sites, err := d.sites()
	if err != nil {
		return 0, err
	}
	return sites.HorizontalFPR(n)
}

// FailedFPR returns the false positive rate when bits at failed sites are taken as set,
// (f/(S S') + (1-f/(S S')) p^(1/k))^k (KNPS, Eq. 7, whose second f/S lacks the S'), where
// p is the rate without failures. It assumes that an element's bits are lost
// independently. In a v-h diced filter this fails when several lie in the same vertical
// slice, so the rate is higher unless S is far above K. In an h-v diced filter bits are
// lost together when failures concentrate in one horizontal slice; this is the rate for
// failures that are spread evenly. Domain: 0 <= failed <= S S', 0 <= p <= 1.
func (d Diced) FailedFPR(failed int, p float64) (float64, error) {
	sites, err := d.sites()
	if err != nil {
		return 0, err
	}
	return sites.VerticalFailedFPR(failed, p)
}

// splitK2 returns K/k1.
func (s Sliced) splitK2(k1 int) (int, error) {
	if err := s.validate(); err != nil {
		return 0, err
	}
	if k1 < 1 || k1 > s.K || s.K%k1 != 0 {
		return 0, fmt.Errorf("theory: k1 is %d, must divide K, which is %d: %w", k1, s.K, ErrDomain)
	}
	return s.K / k1, nil
}

// SplitFPR returns the false positive rate after n distinct elements when k1 hash
// functions choose k1 of the slices, with k2 = K/k1 bits in each:
//
//	E[(1-(1-S/m)^(k2 B))^k2]^k1 for B binomial with n k1 trials of chance 1/S
//
// Here slices get elements by chance, while [Sliced.HorizontalFPR] (KNPS, Proposition 2)
// gives each n k1/S, which makes every k1 the same. For k1 = K the two agree. With fewer
// choices this rate is higher, and more so with more slices: that is the deviation of
// horizontal slices in the paper's measurements. Domain: k1 divides K, n >= 0, n k1 <=
// 2^40.
//
// The time grows with the square root of n k1/S.
func (s Sliced) SplitFPR(k1, n int) (float64, error) {
	k2, err := s.splitK2(k1)
	if err != nil {
		return 0, err
	}
	if err := requireWithin("n k1", n, 0, maxTrials/k1); err != nil {
		return 0, err
	}
	// The logarithm of the chance that an element of a slice leaves a bit clear.
	spared := float64(k2) * math.Log1p(-float64(s.Slices)/float64(s.Bits))
	if s.Slices == s.Bits {
		spared = -math.MaxFloat64 // not infinite, as it is multiplied by 0
	}
	rate := meanOverBinomial(n*k1, 1/float64(s.Slices), func(elements int) float64 {
		return math.Pow(-math.Expm1(spared*float64(elements)), float64(k2))
	})
	return math.Pow(rate, float64(k1)), nil
}

// maxTrials bounds the time of a mean over a binomial distribution.
const maxTrials = min(1<<40, math.MaxInt)

// meanOverBinomial returns E[f(B)] for a binomial B with f from 0 to 1. It leaves out
// terms beyond 12 standard deviations and 60, which add less than 1e-20.
func meanOverBinomial(trials int, chance float64, f func(count int) float64) float64 {
	if chance >= 1 {
		return f(trials)
	}
	mean := float64(trials) * chance
	spread := 12*math.Sqrt(mean*(1-chance)) + 60
	first, last := max(0, int(mean-spread)), min(trials, int(mean+spread))
	logOdds := math.Log(chance) - math.Log1p(-chance)
	logTerm := logChoose(trials, first) + float64(first)*logOdds + float64(trials)*math.Log1p(-chance)
	sum, weights := 0.0, 0.0
	for count := first; count <= last; count++ {
		weight := math.Exp(logTerm)
		weights += weight
		sum += weight * f(count)
		logTerm += math.Log(float64(trials-count)/float64(count+1)) + logOdds
	}
	// Dividing takes out the rounding errors of large logarithms.
	return sum / weights
}

// logChoose returns the logarithm of C(n,k).
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return all - in - out
}
