package window

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// ample is memory in which the test streams never fill a line.
const ample = 4 << 20

func TestTimedEqualsExact(t *testing.T) {
	for _, text := range []string{"3us", "200us", "n:1", "n:30", "n:1000", "none"} {
		w := mustWindow(t, text)
		for name, next := range check.Clocks(max(int64(w.Duration), 1000)) {
			t.Run(text+"/"+name, func(t *testing.T) {
				eachMode(t, func(t *testing.T, refresh, across bool) {
					cfg := TimedConfig{Window: w, Memory: ample, Refresh: refresh, Across: across}
					s := check.RandomPackets(7, 6000, next)
					timed, exact := newTimed(t, cfg), newExact(t, cfg)
					s.Round(int64(timed.tick.by))
					got, want := s.Verdicts(timed, 1000), s.Verdicts(exact, 1000)
					copies := 0
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("packet %d: copy %v, want %v", i, got[i], want[i])
						}
						if want[i] {
							copies++
						}
					}
					if copies == 0 || copies == len(want) {
						t.Errorf("%d copies: the stream tests nothing", copies)
					}
					if !refresh {
						checkTwins(t, s, got, w, across, tickingOf(timed))
					}
				})
			})
		}
	}
}

func TestTimedFull(t *testing.T) {
	for _, text := range []string{"1ms", "n:500", "none"} {
		w := mustWindow(t, text)
		for name, next := range check.Clocks(1_000_000 / 50) {
			t.Run(text+"/"+name, func(t *testing.T) {
				for _, across := range []bool{false, true} {
					cfg := TimedConfig{Window: w, Memory: 4 * layout.LineSize, Across: across}
					s := check.RandomPackets(8, 6000, next)
					f := newTimed(t, cfg)
					got := s.Verdicts(f, 500)
					checkTwins(t, s, got, w, across, tickingOf(f))
					if w.Duration == 0 || name == "in order" {
						if st := f.Stats(); st.EvictedLive == 0 || st.SuggestedMemory <= st.MemoryBytes {
							t.Errorf("full memory: %+v", st)
						}
					}
				}
			})
		}
	}
}

// TestTimedHostile uses times from all of an int64.
func TestTimedHostile(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, w := range []Window{
		{Duration: 1}, {Duration: 1e6}, {Duration: 1e9}, {Duration: math.MaxInt64 - 1}, {Duration: math.MaxInt64},
		{Packets: math.MaxInt64}, {None: true},
	} {
		t.Run(w.String(), func(t *testing.T) {
			for _, across := range []bool{false, true} {
				f := newTimed(t, TimedConfig{Window: w, Memory: 1 << 14, Across: across})
				e := newExact(t, TimedConfig{Window: w, Across: across})
				rng := rand.New(rand.NewPCG(9, 9))
				s := &check.Packets{}
				for range 4000 {
					d := rng.Uint64N(60)
					at := ends[rng.IntN(len(ends))]
					if rng.IntN(4) == 0 {
						at = int64(rng.Uint64())
					}
					s.Add(digest.Digest{d * 0x9e3779b97f4a7c15, d * 0xbf58476d1ce4e5b9}, at, rng.Uint32N(400))
				}
				checkTwins(t, s, s.Verdicts(f, 64), w, across, tickingOf(f))
				checkTwins(t, s, s.Verdicts(e, 64), w, across, ticking{})
			}
		})
	}
}

func TestTimedBatchSizes(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:70", "none"} {
		cfg := TimedConfig{Window: mustWindow(t, text), Memory: 16 * layout.LineSize}
		s := check.RandomPackets(10, 3000, check.Clocks(100_000)["jumps"])
		var want []bool
		var stats engine.PacketStats
		for _, batch := range []int{1, 7, 64, 1000, 3000} {
			f := newTimed(t, cfg)
			got := s.Verdicts(f, batch)
			if want == nil {
				want, stats = got, f.Stats()
			}
			if !slices.Equal(got, want) || f.Stats() != stats {
				t.Errorf("window %s: batches of %d: other verdicts, or %+v, want %+v", text, batch, f.Stats(), stats)
			}
			if exact := newExact(t, cfg); !slices.Equal(s.Verdicts(exact, batch), s.Verdicts(newExact(t, cfg), 1)) {
				t.Errorf("window %s: batches of %d: other exact verdicts", text, batch)
			}
		}
	}
}

// TestTimedGolden pins the verdicts, which must be the same on every CPU.
func TestTimedGolden(t *testing.T) {
	for text, want := range map[string]string{
		"1ms": "ccc4b630", "1s": "b1ae3bd3", "n:300": "2e5eb83b", "none": "e70402ba",
	} {
		h := fnv.New32a()
		for _, across := range []bool{false, true} {
			f := newTimed(t, TimedConfig{Window: mustWindow(t, text), Memory: 100 * layout.LineSize, Across: across})
			for _, isCopy := range check.RandomPackets(11, 5000, check.Clocks(100_000)["jumps"]).Verdicts(f, 512) {
				fmt.Fprint(h, isCopy)
			}
			fmt.Fprint(h, f.Stats().EvictedLive)
		}
		if got := fmt.Sprintf("%08x", h.Sum32()); got != want {
			t.Errorf("window %s: verdicts %s, want %s", text, got, want)
		}
	}
}

// TestTimedBatches cuts a stream into calls of some sizes: verdicts, memory and statistics
// stay the same.
func TestTimedBatches(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:700", "none"} {
		s := check.RandomPackets(12, 70_000, check.Clocks(100_000)["jumps"])
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := TimedConfig{Window: mustWindow(t, text), Memory: 300 * layout.LineSize, Refresh: refresh, Across: across}
			one := newTimed(t, cfg)
			want := s.Verdicts(one, 1000)
			for _, batch := range []int{700, 5000, len(s.Digests)} {
				f := newTimed(t, cfg)
				if !slices.Equal(s.Verdicts(f, batch), want) || !slices.Equal(f.arena.Lines(), one.arena.Lines()) || f.Stats() != one.Stats() {
					t.Errorf("window %s, batches of %d: other verdicts or memory, or %+v, want %+v", text, batch, f.Stats(), one.Stats())
				}
			}
		})
	}
}
