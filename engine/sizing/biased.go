package sizing

import "math"

// mostBiasedK is enough for a FPR of 1e-9 with arrays that are half full.
const mostBiasedK = 64

// biasedRates are the rates of a filter of k arrays of s bits.
type biasedRates func(r *request, k int, s float64) rates

// biased returns the rates of a filter that clears, for what it reports as distinct, bits
// at the rate that clearing gives: the clearings of one bit for each report, where arrays
// have s bits of which a share is set.
func biased(clearing func(k int, s, set float64) float64) biasedRates {
	return func(r *request, k int, s float64) rates {
		return fixedPoint(r.load, k, 1/s, 1/s, func(at rates) float64 {
			return clearing(k, s, at.set) * at.distinctReports(r.load)
		})
	}
}

// model returns the model of the filter as published.
func (at biasedRates) model(r *request, bits int) (design, error) {
	return biasedBest(r, bits, func(k int, s float64) rates { return at(r, k, s) })
}

// bsbf clears one bit of each array.
func bsbf(_ int, s, _ float64) float64 { return 1 / s }

// bsbfsd clears one bit of one array.
func bsbfsd(k int, s, _ float64) float64 { return 1 / (float64(k) * s) }

// rlbsbf clears one bit of each array with a probability that is its load.
func rlbsbf(_ int, s, set float64) float64 { return set / s }

// rsbf is the reservoir sampling based filter in its last phase, from element s/p* on,
// which is the one that an unbounded stream ends in. From then on a bit is cleared for
// each that is set, so that as many stay set as the first phase left: half of them, or
// less in a stream with many repeats, of which only the clearings counted. So the FPR is a
// bound, and the FNR some 15 % too low where most elements are repeats. Bits are
// cleared at the rate that leads to half of them.
func rsbf(r *request, k int, s float64) (at rates) {
	bisect(math.Log(1e-6/s), math.Log(1e6/s), func(logClearing float64) float64 {
		at = ratesOf(r.load, cell{setting: 1 / s, clearing: math.Exp(logClearing), top: 1}, k)
		return at.set - 0.5
	})
	return at
}

// biasedBest takes the smallest number of arrays that keeps the bound on the FPR, which
// falls with it: more of them miss more.
func biasedBest(r *request, bits int, at func(k int, s float64) rates) (design, error) {
	low, high := 1, mostBiasedK
	if r.Fixed.K != 0 {
		low, high = r.Fixed.K, r.Fixed.K
	}
	if bits < low {
		return design{}, impossible("K = %d arrays need at least %d bits of memory; the %d bits given are enough for K up to %d", low, low, bits, bits)
	}
	high = max(low, min(high, bits))
	for low < high {
		k := (low + high) / 2
		if at(k, float64(bits/k)).fpr <= r.FPR {
			high = k
		} else {
			low = k + 1
		}
	}
	s := bits / high
	rates := at(high, float64(s))
	return r.finish(design{
		parameters: []Parameter{{"K", high}, {"s", s}},
		bits:       high * s,
		fpr:        rates.fpr,
		lines:      float64(2 * high),
	}, rates.misses()), nil
}
