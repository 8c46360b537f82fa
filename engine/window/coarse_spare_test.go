// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// TestCoarseSpare has as many elements in a window as lines hold at some loads, each with
// a copy at an age that is spread evenly over the window: misses, evictions, and look-ups
// in spare lines equal the model's.
func TestCoarseSpare(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	forCoarse(t, func(t *testing.T, fine bool) {
		loads := []float64{9.5, 10, 10.5, 11, 12, 13}
		if fine {
			loads = []float64{7.25, 7.5, 8, 8.5, 9, 10}
		}
		for _, load := range loads {
			const lines = 13 * 1024
			live := int(load * lines * (sparePart - 1) / sparePart)
			w := Window{Duration: time.Second}
			f := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: lines * layout.LineSize})
			missed, copies := coarseMisses(f, int64(w.Duration)/int64(live), live, 10*live)

			model := CoarseModel(w, fine)
			window := float64(f.params.Window)
			lost, mean := model.Lost(load), 0.0
			const steps = 100
			for i := range steps {
				mean += lost((1-1/window)*(float64(i)+0.5)/steps) / steps
			}
			all := float64(f.counts.Inserted)
			for _, c := range []struct {
				of        string
				got, want float64
				count     float64
			}{
				{"looked for in spare lines", float64(f.counts.Asked) / all, model.Full(load), all},
				{"evicted", float64(f.counts.EvictedLive) / all, lost(1 + 0.5/window), all},
				{"missed", float64(missed) / float64(copies), mean, float64(copies)},
			} {
				if c.want*c.count < 300 { // too few to say
					continue
				}
				if c.got < 0.9*c.want || c.got > 1.1*c.want {
					t.Errorf("load %v: %v are %s, want %v", load, c.got, c.of, c.want)
				}
			}
		}
	})
}

// coarseMisses sends n new elements through a filter, at equal distances in time, and
// after each a copy of one that came up to a window before. It returns the number of
// missed copies. A missed copy is kept, and the filter is as full as without it. It
// leaves out the first two windows, which fill it.
func coarseMisses(f *Coarse, step int64, window, n int) (missed, copies int) {
	rng := rand.New(rand.NewPCG(77, 77))
	fresh := check.Digests(78, n)
	s := &check.Packets{}
	for i, d := range fresh {
		s.Add(d, int64(i)*step, 0)
		if i%8 == 0 && i > 2*window {
			s.Add(fresh[i-rng.IntN(window-window/int(f.params.Window))], int64(i)*step, 0)
			copies++
		}
		if i == 2*window {
			s.Verdicts(f, 1024)
			s, f.counts.Inserted, f.counts.Asked, f.counts.EvictedLive = &check.Packets{}, 0, 0, 0
		}
	}
	at := 0
	for i, found := range s.Verdicts(f, 1024) {
		isCopy := (at+2*window+1)%8 == 0 && i > 0 && s.Times[i] == s.Times[i-1]
		if isCopy && !found {
			missed++
		}
		if i+1 < len(s.Times) && s.Times[i+1] != s.Times[i] {
			at++
		}
	}
	return missed, copies
}

// TestCoarseMissesCounted sends streams through filters that are too small for them: whatever
// is missed is counted, as evicted or as late. Ticks divide the window, and times are whole
// ticks, so windows have the same edges.
func TestCoarseMissesCounted(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		for name, next := range map[string]func(rng *rand.Rand, i int, now int64) (later, time int64){
			"in order": func(rng *rand.Rand, i int, now int64) (int64, int64) { return now + 1000, now },
			"jitter": func(rng *rand.Rand, i int, now int64) (int64, int64) {
				return now + 1000, now - rng.Int64N(1_000_000/10)
			},
			"bursts": func(rng *rand.Rand, i int, now int64) (int64, int64) {
				if i/5000%4 == 0 {
					return now + 20, now
				}
				return now + 2000, now
			},
			"pauses": func(rng *rand.Rand, i int, now int64) (int64, int64) {
				if rng.IntN(3000) == 0 {
					return now + rng.Int64N(10_000_000), now
				}
				return now + 1000, now
			},
		} {
			for _, lines := range []int{1, 13, 130, 1000} {
				for i := range 4 {
					cfg := CoarseConfig{Window: Window{Duration: 1240 * time.Microsecond}, Fine: fine, Memory: lines * layout.LineSize, Refresh: i&1 != 0, Limit: i / 2 << 20}
					checkMissesCounted(t, name, cfg, next)
				}
			}
		}
	})
}

func checkMissesCounted(t *testing.T, name string, cfg CoarseConfig, next func(*rand.Rand, int, int64) (int64, int64)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(91, uint64(cfg.Memory)))
	s, now := &check.Packets{}, int64(1_700_000_000_000_000_000)
	for i := range 25_000 {
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if i > 2000 && rng.IntN(3) == 0 {
			d = s.Digests[i-1-rng.IntN(2000)]
		}
		var at int64
		now, at = next(rng, i, now)
		s.Add(d, at, 0)
	}
	f := newCoarse(t, cfg)
	s.Round(int64(f.tick.by))
	exact := newExact(t, TimedConfig{Window: cfg.Window, Refresh: cfg.Refresh})
	want, missed := s.Verdicts(exact, 1000), uint64(0)
	for i, isCopy := range s.Verdicts(f, 1000) {
		if want[i] && !isCopy {
			missed++
		}
	}
	if st := f.Stats(); missed > st.EvictedLive+st.Late.Elements {
		t.Errorf("%s, %+v: %d missed, %d evicted, %d late", name, cfg, missed, st.EvictedLive, st.Late.Elements)
	}
}
