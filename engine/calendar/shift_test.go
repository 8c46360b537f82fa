// SPDX-License-Identifier: Apache-2.0

package calendar_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/calendar"
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
		want := within(new(big.Int).Add(big.NewInt(a), big.NewInt(d)))
		if got := calendar.Shift(a, d); got != want {
			t.Errorf("%d + %d = %d, want %d", a, d, got, want)
		}
		if got, want := calendar.Since(a, d), within(new(big.Int).Sub(big.NewInt(a), big.NewInt(d))); got != want {
			t.Errorf("%d - %d = %d, want %d", a, d, got, want)
		}
	}
}

// within returns the nearest number of 64 bits.
func within(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
