package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// timerShapes are parameters of timer lines: usual ones, and the ends of all ranges.
var timerShapes = []TimerParams{
	{Bits: 8, K: 3, Window: 200},
	{Bits: 8, K: 4, Window: 254, Refresh: true},
	{Bits: 8, K: 1, Window: 1, Equal: 1},
	{Bits: 8, K: 3, Window: 100, Equal: 2},
	{Bits: 8, K: MaxCellK, Window: 30, Equal: MaxCellK, Refresh: true},
	{Bits: 16, K: 2, Window: 40000},
	{Bits: 16, K: 3, Window: 65000, Equal: 2, Refresh: true},
	{Bits: 16, K: 5, Window: 10, Equal: 3},
	{Bits: 16, K: MaxCellK, Window: 1000, Refresh: true},
}

func timerRule(t testing.TB, p TimerParams) *TimerRule {
	t.Helper()
	r, err := NewTimerRule(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTimerLevels compares verdicts, counts and memory for every batch length from 0
// to 300, with guard pages around all buffers.
func TestTimerLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for i, p := range timerShapes {
				t.Run(fmt.Sprintf("%s/%+v", batch.name, p), func(t *testing.T) {
					compareTimers(t, timerRule(t, p), p, uint64(i), i%2 == 0, batch.digest)
				})
			}
		}
	})
}

func compareTimers(t *testing.T, r *TimerRule, p TimerParams, seed uint64, front bool, next func(*rand.Rand, []Digest) Digest) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	const lines, most = 5, 300
	filter, plain := kerneltest.Guarded[[8]uint64](t, lines, front), make([][8]uint64, lines)
	memory, words := kerneltest.Guarded[Digest](t, most, front), kerneltest.Guarded[uint64](t, (most+63)/64, front)
	times := kerneltest.Guarded[uint64](t, most, front)
	var counts, want TimerCounts
	for n := 0; n <= most; n += batchStep(rng) {
		from, used := most-n, len(words)-(n+63)/64
		if front {
			from, used = 0, 0
		}
		digests, ticks := memory[from:from+n], times[from:from+n]
		fillDigests(rng, digests, next)
		// The kernels agree even if nobody sweeps.
		copy(ticks, timerTicks(rng, n, rng.Uint64()>>rng.IntN(64)>>8, 2*p.Window))
		seen, wanted := words[used:used+(n+63)/64], make([]uint64, (n+63)/64)
		TestAndSetTimers(filter, seen, digests, ticks, r, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetTimers(plain, wanted, digests, ticks, r, &want) })
		if n%3 == 0 {
			now := rng.Uint64() >> rng.IntN(64)
			SweepTimers(filter, now, r, &counts)
			kerneltest.AtLevel(cpu.Generic, func() { SweepTimers(plain, now, r, &want) })
		}
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%d elements: verdicts or counts %+v and %+v differ", n, counts, want)
		}
		if !slices.Equal(filter, plain) {
			t.Fatalf("%d elements: memory differs", n)
		}
	}
}

// TestTimerStamps compares the kernels' way to stamps with a division, for ticks
// around the multiples of all that it adds up.
func TestTimerStamps(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		var ticks []uint64
		for shift := range 64 {
			for _, near := range []uint64{255, 256, 65535, 65536} {
				for d := range uint64(5) {
					ticks = append(ticks, near<<shift+d-2, 1<<shift+d-2, math.MaxUint64/near<<shift+d)
				}
			}
		}
		slices.Sort(ticks)
		for _, bits := range []int{8, 16} {
			rule := timerRule(t, TimerParams{Bits: bits, K: 1, Window: 1})
			for from := 0; from < len(ticks); from += 64 {
				part := ticks[from:min(from+64, len(ticks))]
				var stamps timerStamps
				stamps.fill(part, rule)
				for i, tick := range part {
					if want := rule.ones * (1 + tick%(1<<bits-1)); stamps.stamp[i] != want {
						t.Fatalf("%d bits: stamp of %d is %#x, want %#x", bits, tick, stamps.stamp[i], want)
					}
				}
			}
		}
	})
}

// TestTicksFall lets one tick of each batch fall, or none.
func TestTicksFall(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for n := range 100 {
			ticks := kerneltest.Guarded[uint64](t, n, n%2 == 0)
			for at := range n + 1 {
				for i := range ticks {
					ticks[i] = math.MaxInt64 - 50 + uint64(i)
				}
				if at < n {
					ticks[at] = math.MaxUint64
				}
				if got, want := fall(ticks), at < n-1; got != want {
					t.Fatalf("%d ticks, number %d is greatest: fall %v, want %v", n, at, got, want)
				}
			}
		}
	})
}
