package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
	"math/rand/v2"
	"testing"
)

// biasedStream returns the stream of the biased sampling paper's tables: distinct
// ids 0, 1, ..., each at least once, and n-distinct copies of uniformly chosen
// ones, all shuffled. Independent draws would give other miss rates.
func biasedStream(n, distinct int, seed uint64) []uint32 {
	random := rand.New(rand.NewPCG(seed, 0))
	ids := make([]uint32, n)
	for i := range ids {
		if i < distinct {
			ids[i] = uint32(i)
		} else {
			ids[i] = random.Uint32N(uint32(distinct))
		}
	}
	random.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// digestOf stands for a keyed hash: both halves by SplitMix64's mixer.
func digestOf(id uint64) digest.Digest {
	return digest.Digest{mix64(2*id + 1), mix64(2*id + 2)}
}

func mix64(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// errorCounts holds a run's errors. The papers' rates are falsePositives /
// distinct and falseNegatives / duplicates.
type errorCounts struct {
	distinct, falsePositives   int
	duplicates, falseNegatives int
}

func countErrors(f Filter, ids []uint32, distinct int) errorCounts {
	var c errorCounts
	known := make([]bool, distinct)
	for _, id := range ids {
		seen := f.TestAndSet(digestOf(uint64(id)))
		switch {
		case known[id]:
			c.duplicates++
			if !seen {
				c.falseNegatives++
			}
		default:
			known[id] = true
			c.distinct++
			if seen {
				c.falsePositives++
			}
		}
	}
	return c
}

// binomialInterval returns the least interval of counts outside of which a
// binomial count of n trials with chance p lies with a probability below alpha
// on each side. Terms beyond 12 standard deviations and 50 are left out: they add
// less than 1e-20.
func binomialInterval(n int, p, alpha float64) (low, high int) {
	mean := float64(n) * p
	spread := 12*math.Sqrt(mean*(1-p)) + 50
	first, last := max(0, int(mean-spread)), min(n, int(mean+spread))
	logFactorial := func(k int) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	term := func(k int) float64 {
		return math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) +
			float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	low, high = first, last
	for sum := term(low); sum < alpha; sum += term(low) {
		low++
	}
	for sum := term(high); sum < alpha; sum += term(high) {
		high--
	}
	return low, high
}

func TestBinomialInterval(t *testing.T) {
	for _, c := range []struct {
		alpha     float64
		low, high int
	}{
		// Of 10 throws of a coin none is heads in 1/1024, at most one in 11/1024.
		{0.0009, 0, 10},
		{0.01, 1, 9},
		{0.011, 2, 8},
	} {
		if low, high := binomialInterval(10, 0.5, c.alpha); low != c.low || high != c.high {
			t.Errorf("alpha %v: from %d to %d, want %d to %d", c.alpha, low, high, c.low, c.high)
		}
	}
}
