// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// someFrames draws frames; odd is the percentage without a usable time.
func someFrames(t *testing.T, rng *rand.Rand, n, odd int) []Frame {
	frames := kerneltest.Guarded[Frame](t, n, n%2 == 0)
	for i := range frames {
		length := rng.Uint32() >> rng.UintN(32)
		frames[i] = Frame{
			Time: int64(rng.Uint64()) >> rng.UintN(64), Data: rng.Uint32(), CapLen: length, WireLen: length,
			Interface: rng.Uint32(), Record: rng.Uint32(), RecordLen: rng.Uint32(),
		}
		if rng.IntN(2) == 0 {
			frames[i].WireLen = rng.Uint32()
		}
		if rng.IntN(100) < odd {
			frames[i].Time = []int64{math.MinInt64, math.MaxInt64}[rng.IntN(2)]
		}
	}
	return frames
}

// TestSumLevels compares every instruction set with the plain one.
func TestSumLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		for n := range 300 {
			frames := someFrames(t, rng, n, n%3)
			times, want := kerneltest.Guarded[int64](t, n, n%2 == 1), make([]int64, n)
			last := int64(rng.Uint64())
			got, sums := Sums{1, 3}, Sums{1, 3}
			done, wanted := Sum(times, frames, last, &got), 0
			kerneltest.AtLevel(cpu.Generic, func() { wanted = Sum(want, frames, last, &sums) })
			if done != wanted || got != sums || !slices.Equal(times[:done], want[:done]) {
				t.Fatalf("%d frames: got %d, %+v, want %d, %+v", n, done, got, wanted, sums)
			}
		}
	})
}

// TestSum counts a few frames.
func TestSum(t *testing.T) {
	frames := []Frame{
		{Time: 5, CapLen: 10, WireLen: 10}, {Time: 7, CapLen: 20, WireLen: 30}, {Time: 6, CapLen: 1},
		{Time: 6, CapLen: 2, WireLen: 3}, {Time: math.MaxInt64, CapLen: 9}, {Time: 1},
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		times, s := make([]int64, len(frames)), Sums{}
		if done := Sum(times, frames, 6, &s); done != 4 || s != (Sums{Bytes: 33, Older: 2}) {
			t.Errorf("%d frames, %+v", done, s)
		}
		if !slices.Equal(times[:4], []int64{5, 7, 6, 6}) {
			t.Errorf("times %d", times)
		}
	})
}

// TestMessages compares messages with the fields that they are made of.
func TestMessages(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(73, 74))
		for n := range 100 {
			frames := someFrames(t, rng, n, 0)
			msgs := kerneltest.Guarded[digest.Message](t, n, n%2 == 1)
			Messages(msgs, frames, 5<<56)
			for i, f := range frames {
				if want := (digest.Message{Off: f.Data, Len: f.CapLen, Tweak: 5<<56 | uint64(f.WireLen)}); msgs[i] != want {
					t.Fatalf("message %d of %d: %x, want %x", i, n, msgs[i], want)
				}
			}
		}
	})
}

// TestWithin has one time at, before or after the ends of spans.
func TestWithin(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, c := range []struct{ first, span int64 }{{0, 0}, {10, 5}, {-3, 1 << 44}, {math.MaxInt64 - 2, 100}, {math.MinInt64, math.MaxInt64}} {
			for n := 1; n < 10; n++ {
				for at := range n {
					for after, want := range map[int64]bool{0: true, c.span: true, -1: false, c.span + 1: false, math.MinInt64: false} {
						times := kerneltest.Guarded[int64](t, n, at%2 == 0)
						for i := range times {
							times[i] = c.first + c.span/2
						}
						times[at] = c.first + after // wraps
						if Within(times, c.first, c.span) != want {
							t.Errorf("%d + %d in %d + 0 to %d: within %v", c.first, after, c.first, c.span, !want)
						}
					}
				}
			}
		}
	})
}

func BenchmarkSum(b *testing.B) {
	frames, times, s := make([]Frame, 512), make([]int64, 512), Sums{}
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(frames), func() { Sum(times, frames, 0, &s) })
	})
}

func BenchmarkMessages(b *testing.B) {
	frames, msgs := make([]Frame, 512), make([]digest.Message, 512)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(frames), func() { Messages(msgs, frames, 0) })
	})
}
