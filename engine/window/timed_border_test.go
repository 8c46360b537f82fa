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

// borderStream has packets around the borders of the eras of f, whose first packet it has
// too: half of them repeat one of the last 40. Jitter is how far times are out of order.
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

// Neither batches nor workers change what happens at a border, in lines that are full too.
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

func TestAnyOutside(t *testing.T) {
	for _, c := range []struct{ first, span int64 }{{0, 0}, {10, 5}, {-3, 1 << 44}, {math.MaxInt64 - 2, 100}, {math.MinInt64, math.MaxInt64}} {
		for _, n := range []int{1, 4, 7} {
			for at := range n {
				for after, want := range map[int64]bool{0: false, c.span: false, -1: true, c.span + 1: true, math.MinInt64: true} {
					ticks := make([]int64, n)
					for i := range ticks {
						ticks[i] = c.first + c.span/2
					}
					ticks[at] = c.first + after // wraps
					if got := anyOutside(ticks, c.first, c.span); got != want {
						t.Errorf("%d + %d in %d + 0 to %d: outside %v", c.first, after, c.first, c.span, got)
					}
				}
			}
		}
	}
}

// A window of half an era lies within that of two borders everywhere.
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
