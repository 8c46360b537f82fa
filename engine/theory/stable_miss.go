package theory

import (
	"fmt"
	"math"
)

// StableMissFPS returns the limit of the false positive rate of a stable Bloom
// filter with cells of one bit that decrements only on a miss (on a hit its K bits
// are all set, so that setting them makes no difference): z^K, where z is the share of set bits at which as many bits are
// cleared as are set,
//
//	p z (1 - z^K) = K (1 - z)
//
// for a stream of new elements, in the limit of many cells. (Divided by 1-z the
// left side is p times a polynomial that grows with z, so that there is one
// solution below 1.) This is DR06, Algorithm 1, with all of the
// update in its else branch, as it can be read; the paper's equations are for an
// update at every element. It trades like a [Stable] with a smaller P. Domain: p >= 2,
// k >= 1; with p = 1 the filter fills up.
func StableMissFPS(p, k int) (float64, error) {
	if err := requireAtLeast("P", p, 2); err != nil {
		return 0, err
	}
	if err := requireAtLeast("K", k, 1); err != nil {
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

// StableMissP returns the smallest P for which [StableMissFPS] is fps or less.
// Domain: k >= 1, 0 < fps < 1 and
// large enough for a P below 2^31.
func StableMissP(k int, fps float64) (int, error) {
	if err := requireAtLeast("K", k, 1); err != nil {
		return 0, err
	}
	if err := requireRate("fps", fps); err != nil {
		return 0, err
	}
	exact := float64(k) / geometric(math.Pow(fps, 1/float64(k)), k)
	if exact > math.MaxInt32 {
		return 0, fmt.Errorf("theory: a false positive rate of %g needs %.4g decrements with K = %d: %w", fps, exact, k, ErrDomain)
	}
	return max(2, int(math.Ceil(exact*(1-1e-12)))), nil
}

// geometric returns z + z^2 + ... + z^k.
func geometric(z float64, k int) float64 {
	sum := 0.0
	for range k {
		sum = z * (1 + sum)
	}
	return sum
}
