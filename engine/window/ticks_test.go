// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
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

// TestLeastTick keeps short windows exact, and microseconds, too.
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

// borderStream has a first packet, which sets the eras of f, and packets around their
// borders: half of these repeat one of the last 40. jitter bounds the disorder of times.
func borderStream(f *Timed, window, jitter int64, each int) *check.Packets {
	rng := rand.New(rand.NewPCG(41, uint64(window)))
	s := &check.Packets{}
	tick := int64(f.tick.by)
	first := int64(1_700_000_000_000_000_000) / tick * tick
	era := tick << (f.params.TickBits - 1)
	s.Add(digest.Digest{1, 1}, first, 0)
	for k := range int64(4) {
		border := first + era/2 + k*era
		if border < first { // beyond the end of time
			break
		}
		for i := range each {
			d := digest.Digest{rng.Uint64(), rng.Uint64()}
			if i > 40 && rng.IntN(2) == 0 {
				d = s.Digests[len(s.Digests)-1-rng.IntN(40)]
			}
			at := border - 3*window + 6*window/int64(each)*int64(i) + rng.Int64N(2*jitter+1) - jitter
			s.Add(d, at, rng.Uint32N(3))
		}
	}
	s.Round(tick)
	return s
}

// TestTimedBorders compares with the exact filter at every border.
func TestTimedBorders(t *testing.T) {
	for _, w := range []time.Duration{time.Microsecond, time.Millisecond, 50 * time.Millisecond, time.Second, time.Hour, 24 * time.Hour} {
		for _, jitter := range []int64{0, int64(w) / 4} {
			t.Run(fmt.Sprint(w, "/", jitter), func(t *testing.T) {
				eachMode(t, func(t *testing.T, refresh, across bool) {
					cfg := TimedConfig{Window: Window{Duration: w}, Memory: ample, Refresh: refresh, Across: across}
					f := newTimed(t, cfg)
					s := borderStream(f, int64(w), jitter, 600)
					got, want := s.Verdicts(f, 1000), s.Verdicts(newExact(t, cfg), 1000)
					spanning := 0
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("packet %d at %d: copy %v, want %v", i, s.Times[i], got[i], want[i])
						}
						if want[i] {
							spanning++
						}
					}
					if spanning < 100 {
						t.Errorf("%d copies: the stream tests nothing", spanning)
					}
				})
			})
		}
	}
}

// TestNearBorder looks at single ticks. A copy up to a window behind a tick, or before it,
// may lie in another era: from the tick on that is a window before the border. The tick a
// window behind it has none there, nor has a tick in the midst of an era.
func TestNearBorder(t *testing.T) {
	for _, text := range []string{"1us", "1ms", "1s", "1h"} {
		f := newTimed(t, TimedConfig{Window: mustWindow(t, text), Memory: 6400})
		f.TestAndSet(make([]uint64, 1), make([]digest.Digest, 1), []int64{1_700_000_000_000_000_000}, nil)
		window, era := f.params.Window, int64(1)<<(f.params.TickBits-1)
		for k := range int64(3) {
			border := f.params.Origin + k*era
			for after, want := range map[int64]bool{
				-window - 1: false, -window: true, -1: true, 0: true, window - 1: true, window: false, era / 2: false,
			} {
				if got := f.nearBorder([]int64{border + after}); got != want {
					t.Errorf("%s: %d ticks after border %d: %v, want %v", text, after, k, got, want)
				}
				if unusual := f.unusual([]int64{border + after}); want && !unusual {
					t.Errorf("%s: %d ticks after border %d are usual", text, after, k)
				}
			}
		}
		if f.nearBorder([]int64{layout.NoTick}) {
			t.Errorf("%s: no time is near a border", text)
		}
	}
}

// Neither batches nor workers change the verdicts at a border, also in full lines.
func TestTimedBordersBatches(t *testing.T) {
	for _, memory := range []int{30 * layout.LineSize, 3000 * layout.LineSize} {
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := TimedConfig{Window: mustWindow(t, "1ms"), Memory: memory, Refresh: refresh, Across: across}
			one := newTimed(t, cfg)
			s := borderStream(one, int64(time.Millisecond), 100_000, 3000)
			want := s.Verdicts(one, 1)
			for _, batch := range []int{7, 64, 1000, len(want)} {
				f := newTimed(t, cfg)
				if got := s.Verdicts(f, batch); fmt.Sprint(got) != fmt.Sprint(want) || f.Stats() != one.Stats() {
					t.Errorf("batches of %d: other verdicts, or %+v, want %+v", batch, f.Stats(), one.Stats())
				}
			}
		})
	}
}

// A window of half an era lies within reach of two borders everywhere.
func TestTimedLongestWindow(t *testing.T) {
	cfg := TimedConfig{Window: Window{Duration: 256 << 43}, Memory: ample}
	f := newTimed(t, cfg)
	rng := rand.New(rand.NewPCG(42, 42))
	s := &check.Packets{}
	for i := range 4000 {
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if i > 200 && rng.IntN(2) == 0 {
			d = s.Digests[i-1-rng.IntN(200)]
		}
		s.Add(d, int64(i)*int64(cfg.Window.Duration)/70, 0)
	}
	s.Round(256)
	got, want := s.Verdicts(f, 512), s.Verdicts(newExact(t, cfg), 512)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("packet %d: copy %v, want %v", i, got[i], want[i])
		}
	}
}
