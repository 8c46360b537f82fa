package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTickLength(t *testing.T) {
	for _, c := range []struct {
		size         int64
		bits         uint
		tick, window int64
	}{
		{1, 24, 1, 1},
		{1_000_000, 24, 1, 1_000_000},
		{1 << 22, 24, 1, 1 << 22},
		{5_000_000, 24, 2, 2_500_000},
		{1_000_000_000, 24, 250, 4_000_000},
		{3_600_000_000_000, 24, 900_000, 4_000_000},
		{1_000_000, 20, 4, 250_000},
		{1<<22 + 1, 24, 2, 1<<21 + 1},
		{999_999_937, 24, 239, 4_184_101},
	} {
		tick, window := tickLength(c.size, c.bits)
		if tick != c.tick || window != c.window {
			t.Errorf("tickLength(%d, %d) = %d, %d, want %d, %d", c.size, c.bits, tick, window, c.tick, c.window)
		}
		most := int64(1) << (c.bits - 2)
		if window > most || tick > 1 && window < most/2 || float64(tick)*float64(window) < float64(c.size)*(1-1e-15) {
			t.Errorf("tickLength(%d, %d) = %d, %d breaks its promise", c.size, c.bits, tick, window)
		}
	}
}

func TestDivisor(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	numbers := []uint64{0, 1, 2, 3, math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1, 1<<32 - 1, 1 << 32}
	for range 2000 {
		numbers = append(numbers, rng.Uint64()>>rng.UintN(64))
	}
	for _, by := range numbers[:300] {
		if by == 0 {
			continue
		}
		d := newDivisor(by)
		for _, u := range numbers {
			for _, v := range []uint64{u, u / by * by, u/by*by - 1} {
				if got := d.divide(v); got != v/by {
					t.Fatalf("%d / %d = %d, want %d", v, by, got, v/by)
				}
			}
		}
	}
}
