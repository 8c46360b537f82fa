package records_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestShift compares with numbers that have no bounds.
func TestShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for i := range 2000 {
		a, d := int64(rng.Uint64()), int64(rng.Uint64())
		if i < len(edges)*len(edges) {
			a, d = edges[i/len(edges)], edges[i%len(edges)]
		}
		sum := new(big.Int).Add(big.NewInt(a), big.NewInt(d))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		} else if sum.Sign() < 0 {
			want = math.MinInt64
		}
		if got := records.Shift(a, d); got != want {
			t.Errorf("%d + %d = %d, want %d", a, d, got, want)
		}
	}
}
