package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestTickLength(t *testing.T) {
	for _, c := range []struct {
		size, least  int64
		bits         uint
		tick, window int64
	}{
		{1, 1, 45, 1, 1},
		{1_000_000, 1, 45, 1, 1_000_000},
		{1_000_000, 256, 45, 320, 3125},
		{1_000_000, 1000, 42, 1000, 1000},
		{1_000_000_000, 256, 45, 256, 3_906_250},
		{3_600_000_000_000, 256, 45, 256, 14_062_500_000},
		{math.MaxInt64, 256, 45, 1_205_449, 7_651_399_633_543},
		{math.MaxInt64, 1, 40, 47_388_607, 194_632_689_601},
		{999_999_937, 256, 45, 256, 3_906_250},
	} {
		tick, window := tickLength(c.size, c.bits, c.least)
		if tick != c.tick || window != c.window {
			t.Errorf("tickLength(%d, %d, %d) = %d, %d, want %d, %d", c.size, c.bits, c.least, tick, window, c.tick, c.window)
		}
		if window > int64(1)<<(c.bits-2) || tick < c.least || float64(tick)*float64(window) < float64(c.size)*(1-1e-15) {
			t.Errorf("tickLength(%d, %d, %d) = %d, %d breaks its promise", c.size, c.bits, c.least, tick, window)
		}
	}
}

// TestLeastTick keeps short windows exact and microseconds, too.
func TestLeastTick(t *testing.T) {
	for _, window := range []int64{1, 999, 1000, 25_000, 1_000_000, 1_000_003, 100_000_000, 1e9, 60e9, 3600e9, 86400e9} {
		for _, bits := range []uint{40, 42, 45} {
			tick, n := ticksOf(Window{Duration: time.Duration(window)}, bits)
			if window <= 1_000_000 && tick != 1 || window%1000 == 0 && tick >= 1000 && bits > 40 || window > 1000 && float64(tick)*float64(n) > float64(window)*1.0001 {
				t.Errorf("window %d, %d bits: %d ticks of %d", window, bits, n, tick)
			}
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
