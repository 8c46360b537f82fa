package paper

import (
	"errors"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

func TestBloomMissesNothing(t *testing.T) {
	for _, k := range []int{1, 2, 5, 17} {
		f, err := NewBloom(50_000, k)
		if err != nil {
			t.Fatal(err)
		}
		ids := biasedStream(20_000, 8_000, 3)
		if c := countErrors(f, ids, 8_000); c.falseNegatives != 0 || c.duplicates != 12_000 {
			t.Errorf("k = %d: %d of %d duplicates missed", k, c.falseNegatives, c.duplicates)
		}
	}
}

// TestBloomFalsePositives inserts distinct elements only. Element i is a false
// positive with the closed form's chance, so their number lies within the bounds
// of a binomial of the mean chance (whose tails are the wider ones, Hoeffding
// 1956) but for 2e-6 of all choices of ids.
func TestBloomFalsePositives(t *testing.T) {
	const m, n = 100_000, 40_000
	for _, k := range []int{1, 2, 3, 6} {
		f, err := NewBloom(m, k)
		if err != nil {
			t.Fatal(err)
		}
		count, sum := 0, 0.0
		for i := range n {
			rate, err := theory.BloomFPR(m, k, i)
			if err != nil {
				t.Fatal(err)
			}
			sum += rate
			if f.TestAndSet(digestOf(uint64(i))) {
				count++
			}
		}
		low, high := binomialInterval(n, sum/n, 1e-6)
		if count < low || count > high {
			t.Errorf("k = %d: %d false positives, want %d to %d", k, count, low, high)
		}
	}
}

func TestNewOptimalBloom(t *testing.T) {
	for _, c := range []struct{ m, distinct, k int }{
		{1000, 100, 7}, {1000, 1000, 1}, {1000, 5000, 1}, {1 << 30, 1, maxHashes},
	} {
		f, err := NewOptimalBloom(c.m, c.distinct)
		if err != nil {
			t.Fatal(err)
		}
		if f.K() != c.k || f.Bits() != c.m {
			t.Errorf("%d bits for %d: k = %d of %d bits, want %d", c.m, c.distinct, f.K(), f.Bits(), c.k)
		}
	}
}

func TestConstructorErrors(t *testing.T) {
	stable := StableConfig{Cells: 100, CellBits: 2, K: 3, P: 5}
	changed := func(change func(*StableConfig)) error {
		c := stable
		change(&c)
		_, err := NewStable(c)
		return err
	}
	failure := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"no bits":          failure(NewBloom(0, 1)),
		"too many bits":    failure(NewBloom(maxBits+1, 1)),
		"no hash":          failure(NewBloom(10, 0)),
		"too many hashes":  failure(NewBloom(10, maxHashes+1)),
		"no elements":      failure(NewOptimalBloom(10, 0)),
		"optimal, no bits": failure(NewOptimalBloom(-1, 10)),
		"cells":            changed(func(c *StableConfig) { c.Cells = c.K }),
		"many cells":       changed(func(c *StableConfig) { c.Cells = math.MaxInt }),
		"no cell bits":     changed(func(c *StableConfig) { c.CellBits = 0 }),
		"wide cells":       changed(func(c *StableConfig) { c.CellBits = maxCellBits + 1 }),
		"K":                changed(func(c *StableConfig) { c.K = 0 }),
		"P":                changed(func(c *StableConfig) { c.P = 0 }),
		"P above cells":    changed(func(c *StableConfig) { c.P = c.Cells + 1 }),
		"no element bits":  failure(NewLRU(10, 0)),
		"element bits":     failure(NewLRU(1000, 129)),
		"no element fits":  failure(NewLRU(63, 64)),
		"too many fit":     failure(NewLRU(maxBits, 1)),
		"q":                failure(NewFPBuffer(64, 64, 1, 0)),
		"q below 0":        failure(NewFPBuffer(64, 64, -0.1, 0)),
		"q not a number":   failure(NewFPBuffer(64, 64, math.NaN(), 0)),
		"no buffer":        failure(NewFPBuffer(0, 64, 0.5, 0)),
		"RSBF threshold":   failure(NewRSBF(BiasedConfig{Bits: 10, K: 2}, 1)),
		"RSBF bits":        failure(NewRSBF(BiasedConfig{Bits: 1, K: 2}, 0)),
		"BSBF K":           failure(NewBSBF(BiasedConfig{Bits: 10})),
		"BSBFSD bits":      failure(NewBSBFSD(BiasedConfig{Bits: maxBits + 1, K: 2})),
		"RLBSBF K":         failure(NewRLBSBF(BiasedConfig{Bits: maxBits, K: maxHashes + 1})),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}
