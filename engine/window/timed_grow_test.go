// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// burstStream has packets every interval, then eight times as many, and then few again. A
// third of them are copies, at most 0.8 of the window late.
func burstStream(n int, window, interval int64) *check.Packets {
	rng := rand.New(rand.NewPCG(51, 51))
	s := &check.Packets{}
	now := int64(1_700_000_000_000_000_000)
	for i := range n {
		switch {
		case i < n/8:
			now += interval
		case i < n/2:
			now += interval / 8
		default:
			now += 3 * interval
		}
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if back := rng.IntN(max(1, int(8*window/interval*4/5))); rng.IntN(3) == 0 && back < i {
			d = s.Digests[i-1-back]
		}
		s.Add(d, now, rng.Uint32N(3))
	}
	return s
}

// growing is a configuration that begins small.
func growing(t *testing.T, text string) TimedConfig {
	return TimedConfig{Window: mustWindow(t, text), Memory: 1024 * layout.LineSize, Limit: 16 << 20}
}

// TestTimedGrows compares a filter that grows, several times within a window, with one
// that was large from the beginning: it misses no more than its reported evictions, and
// one arena is left in the end.
func TestTimedGrows(t *testing.T) {
	for _, text := range []string{"50ms", "1s", "n:20000"} {
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := growing(t, text)
			cfg.Refresh, cfg.Across = refresh, across
			s := burstStream(200_000, int64(max(50*time.Millisecond, cfg.Window.Duration)), int64(max(50*time.Millisecond, cfg.Window.Duration))/2500)
			f := newTimed(t, cfg)
			cfg.Memory, cfg.Limit = 32<<20, 0
			want, missed := s.Verdicts(newTimed(t, cfg), 1000), uint64(0)
			for i, isCopy := range s.Verdicts(f, 1000) {
				if want[i] && !isCopy {
					missed++
				}
			}
			st := f.Stats()
			if missed > st.EvictedLive || st.EvictedLive > 30 || st.Late.Elements != 0 || f.lines < 6000 || len(f.growth.older) != 0 || st.MemoryBytes != f.rows.arena.Bytes() {
				t.Errorf("window %s: %d missed, %d lines and %d older filters in the end, %+v", text, missed, f.lines, len(f.growth.older), st)
			}
		})
	}
}

// TestTimedGrowsToNeed has steady streams: the filter grows twice at most, to 32 bytes for
// each element in a window, asks no more than two arenas for longer than a window, and
// evicts few.
func TestTimedGrowsToNeed(t *testing.T) {
	for _, c := range []struct {
		window string
		rate   int // elements a window
		grows  int // how often
	}{{"1s", 2000, 0}, {"1s", 6000, 1}, {"1s", 30_000, 1}, {"1s", 100_000, 2}, {"10m", 100_000, 2}, {"n:100000", 0, 2}} {
		cfg := growing(t, c.window)
		w := max(int64(cfg.Window.Duration), int64(c.rate))
		s := uniquePackets(max(3*c.rate, 300_000), w/max(1, int64(c.rate)))
		f := newTimed(t, cfg)
		seen, grows, three := make([]uint64, 1), 0, uint64(0)
		for from, before := 0, f.lines; from+64 <= len(s.Digests); from += 64 {
			f.TestAndSet(seen, s.Digests[from:from+64], s.Times[from:from+64], s.Points[from:from+64])
			if f.lines != before {
				grows, before = grows+1, f.lines
			}
			if len(f.growth.older) > 1 {
				three += 64
			}
		}
		live := f.workingSet.current()
		bytes := float64(f.memory) / float64(live)
		if grows != c.grows || three > live || f.lines > 1024 && bytes > 32 || f.Stats().EvictedLive > uint64(len(s.Digests)/10_000) {
			t.Errorf("%s, %d in a window: grew %d times, want %d; three arenas for %d of %d elements; %.1f bytes each, %+v",
				c.window, c.rate, grows, c.grows, three, live, bytes, f.Stats())
		}
	}
}

// TestTimedGrowsByStep has ten times the rate all at once, when the filter has grown to
// the first rate.
func TestTimedGrowsByStep(t *testing.T) {
	s := uniquePackets(500_000, 100_000) // 10,000 a second
	for i := range s.Times {
		if i > 30_000 {
			s.Times[i] = s.Times[30_000] + int64(i-30_000)*10_000
		}
	}
	f := newTimed(t, growing(t, "1s"))
	most := 0
	for from := 0; from < len(s.Digests); from += 1000 {
		part := s.Part(from, from+1000)
		part.Verdicts(f, 1000)
		most = max(most, len(f.growth.older))
	}
	if most > 2 || len(f.growth.older) != 0 || f.memory > 33*100_000 || f.memory < 29*100_000 {
		t.Errorf("%d older filters, %d in the end, %d bytes", most, len(f.growth.older), f.memory)
	}
}

// TestTimedGrowsWhenReady holds the larger memory back: the filter goes on, and grows
// some elements after it is there.
func TestTimedGrowsWhenReady(t *testing.T) {
	cfg := growing(t, "1s")
	s := burstStream(200_000, int64(time.Second), int64(time.Second)/2500)
	f := newTimed(t, cfg)
	f.GrowWhenReady()
	var held *preparedRows
	done := sync.OnceFunc(func() {
		if held != nil {
			close(held.done)
		}
	})
	t.Cleanup(done) // before the filter is closed, which waits for it
	const step = 64 // less than a filter of 1024 lines takes between its plan to grow and growing
	for from := 0; from < len(s.Digests); from += step {
		to := min(from+step, len(s.Digests))
		f.TestAndSet(make([]uint64, 1), s.Digests[from:to], s.Times[from:to], s.Points[from:to])
		if next := f.growth.next; next != nil && held == nil {
			<-next.done // memory under preparation cannot be held back, so other memory takes its place
			held = &preparedRows{stop: next.stop, done: make(chan struct{}), rows: next.rows}
			f.growth.next = held
		}
		if from >= len(s.Digests)/2 && from < len(s.Digests)/2+step {
			if held == nil || f.growth.next != held || f.lines != 1024 {
				t.Fatalf("%d lines, without memory for more", f.lines)
			}
			done()
		}
	}
	if f.lines == 1024 {
		t.Errorf("%d lines in the end", f.lines)
	}
}

// Growth follows the stream: neither batches nor workers nor a restart change anything.
func TestTimedGrowsAlike(t *testing.T) {
	s := burstStream(60_000, 50_000_000, 20_000)
	cfg := growing(t, "50ms")
	cfg.Limit = 400 << 10 // where growth ends before the load does
	one := newTimed(t, cfg)
	want := s.Verdicts(one, 1)
	if one.Stats().EvictedLive == 0 || one.memory > cfg.Limit {
		t.Errorf("the limit was not reached, or passed: %+v", one.Stats())
	}
	for _, batch := range []int{33, 4096, len(want)} {
		f := newTimed(t, cfg)
		if got := s.Verdicts(f, batch); !slices.Equal(got, want) || f.Stats() != one.Stats() || !slices.Equal(f.rows.arena.Lines(), one.rows.arena.Lines()) {
			t.Errorf("batches of %d: other verdicts or lines, or %+v, want %+v", batch, f.Stats(), one.Stats())
		}
	}
	f := newTimed(t, cfg)
	for at, rng, beside := 0, rand.New(rand.NewPCG(52, 52)), 0; at < len(want); {
		to := min(at+1+rng.IntN(900), len(want))
		part := s.Part(at, to)
		if !slices.Equal(part.Verdicts(f, 500), want[at:to]) {
			t.Fatalf("restarted: other verdicts from packet %d to %d", at, to)
		}
		if at = to; len(f.growth.older) > 0 {
			beside++
		}
		again, err := RestoreTimed(bytes.NewReader(check.Saved(t, f)), snapshot.RestoreConfig{Secret: check.SavedSecret, Label: check.SavedLabel})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { again.Close() })
		f = again
		if at == len(want) && beside == 0 {
			t.Error("no snapshot was made while a filter stood beside another")
		}
	}
	if f.Stats() != one.Stats() {
		t.Errorf("restarted: %+v, want %+v", f.Stats(), one.Stats())
	}
}

// A filter with a memory of its own, or without a window, stays as it is.
func TestTimedStays(t *testing.T) {
	s := burstStream(20_000, 50_000_000, 20_000)
	for _, cfg := range []TimedConfig{
		{Window: mustWindow(t, "50ms"), Memory: 6400}, {Window: mustWindow(t, "50ms"), Memory: 6400, Limit: 6400},
		{Window: mustWindow(t, "50ms"), Memory: 6400, Limit: 12800}, {Window: mustWindow(t, "none"), Memory: 6400, Limit: 1 << 20},
	} {
		f := newTimed(t, cfg)
		s.Verdicts(f, 1000)
		if st := f.Stats(); st.MemoryBytes != 6400 || st.EvictedLive == 0 {
			t.Errorf("%+v: %+v", cfg, st)
		}
	}
}

// Closing gives back memory under preparation, and older rows.
func TestTimedGrowsClosed(t *testing.T) {
	for n := range 40 {
		f := newTimed(t, growing(t, "50ms"))
		s := burstStream(100*n+1, 50_000_000, 20_000)
		s.Verdicts(f, 100)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestGrowLead(t *testing.T) {
	for lines, want := range map[int]int{1: 64, 1024: 128, 2048: 256, 8192: 1024, 100_000: 12480, 1 << 20: 1 << 17} {
		if got := growLead(lines); got != want {
			t.Errorf("%d lines: %d, want %d", lines, got, want)
		}
	}
}

// TestTimedLate puts two captures of the same time behind each other.
func TestTimedLate(t *testing.T) {
	const n = 20_000
	for _, text := range []string{"1us", "1ms", "50ms"} {
		for _, lines := range []int{64, 1000, 2 * 2 * n} {
			t.Run(fmt.Sprint(text, "/", lines), func(t *testing.T) {
				s := uniquePackets(n, 100_000)
				for i := range n {
					s.Add(s.Digests[i], s.Times[i]+500, 0)
				}
				var want engine.PacketStats
				for i, batch := range []int{1, 999, 2 * n} {
					f := newTimed(t, TimedConfig{Window: mustWindow(t, text), Memory: lines * layout.LineSize})
					missed := uint64(0)
					for _, isCopy := range s.Verdicts(f, batch)[n:] {
						if !isCopy {
							missed++
						}
					}
					st := f.Stats()
					if i == 0 {
						want = st
					}
					if st != want {
						t.Errorf("batches of %d: %+v, want %+v", batch, st, want)
					}
					checkLate(t, st, missed, n, lines)
				}
			})
		}
	}
}

// checkLate compares a filter's report on the second half of a stream with its misses
// there: all except elements within its memory's length from the end, and the window.
func checkLate(t *testing.T, st engine.PacketStats, missed uint64, n, lines int) {
	t.Helper()
	late := st.Late
	if lines > n {
		if missed != 0 || late != (engine.LateStats{}) {
			t.Errorf("%d missed with memory for all, %+v", missed, late)
		}
		return
	}
	if missed == 0 || late.Elements < missed || late.Elements > missed+missed/10 {
		t.Errorf("%d missed, told of %+v", missed, late)
	}
	if end := time.Duration(n) * 100_000; late.First != uint64(n)+1 || late.By > end || late.By < end-end/10 {
		t.Errorf("told of %+v", late)
	}
	if late.SuggestedMemory < n*layout.LineSize || late.SuggestedMemory > 8*n*layout.LineSize {
		t.Errorf("suggested %d bytes for %d elements", late.SuggestedMemory, n)
	}
}

// Clocks that are wrong for a moment, and times out of order within the window, are not
// late behind forgotten elements, nor make others so.
func TestTimedNotLate(t *testing.T) {
	s := uniquePackets(50_000, 100_000)
	rng := rand.New(rand.NewPCG(53, 53))
	for i := range s.Times {
		s.Times[i] += rng.Int64N(900_000)
		if i%1000 == 500 {
			s.Times[i] += 1e15
		}
	}
	f := newTimed(t, TimedConfig{Window: mustWindow(t, "1ms"), Memory: 64 * layout.LineSize})
	s.Verdicts(f, 1000)
	if late := f.Stats().Late; late != (engine.LateStats{}) {
		t.Errorf("%+v", late)
	}
}

// Where time stands still, older filters end when as many elements were kept as the
// present one holds. All in them counts as evicted.
func TestTimedGrowsTimeless(t *testing.T) {
	cfg := growing(t, "1s")
	cfg.Limit = 1 << 20
	f := newTimed(t, cfg)
	s := uniquePackets(150_000, 0)
	s.Verdicts(f, 1000)
	if held := uint64(6 * f.lines); len(f.growth.older) != 0 || f.lines <= 1024 || f.Stats().EvictedLive+held < 150_000 {
		t.Errorf("%d older filters beside %d lines, %+v", len(f.growth.older), f.lines, f.Stats())
	}
}

// BenchmarkPauseTimed is BenchmarkPause for a filter of packets that grows from 512 KiB
// until it holds 8 million elements of a window.
func BenchmarkPauseTimed(b *testing.B) {
	check.MeasurePause(b, func() engine.Counter[digest.Digest] {
		cfg := TimedConfig{Window: Window{Duration: time.Hour}, Memory: 512 << 10, Limit: 1 << 30}
		return &timedCounter{filter: newTimed(b, cfg), times: make([]int64, check.PauseBatch)}
	}, func(rng *rand.PCG) digest.Digest { return digest.Digest{rng.Uint64(), rng.Uint64()} })
}

// timedCounter has a packet every 100 µs.
type timedCounter struct {
	filter *Timed
	times  []int64
	now    int64
}

func (c *timedCounter) TestAndSet(seen []uint64, d []digest.Digest) {
	for i := range d {
		c.now += 100_000
		c.times[i] = c.now
	}
	c.filter.TestAndSet(seen, d, c.times, nil)
}

func (c *timedCounter) Counts() engine.Counts { return engine.Counts{} }
func (c *timedCounter) Close() error          { return c.filter.Close() }
