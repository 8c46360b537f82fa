// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/layout"
)

// TestTimersAgainstPaper compares verdicts with the verdicts of the filter as printed, in
// the same ticks, where neither has false positives.
func TestTimersAgainstPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, c := range []TimersConfig{
		{Window: mustWindow(t, "1us")}, {Window: mustWindow(t, "1ms")}, {Window: mustWindow(t, "1ms"), TimerBits: 16},
		{Window: mustWindow(t, "1ms"), K: 3, Equal: 3}, {Window: mustWindow(t, "n:50")}, {Window: mustWindow(t, "n:1000")},
	} {
		for _, name := range []string{"in order", "slow"} {
			c.Memory = ample
			f := newTimers(t, c)
			reference, err := paper.NewTimerBloom(paper.TimerConfig{Timers: 1 << 22, K: f.config.K, Window: int(f.window), Equal: c.Equal})
			if err != nil {
				t.Fatal(err)
			}
			s := check.RandomPackets(81, 6000, check.Clocks(int64(max(c.Window.Duration, time.Microsecond)))[name])
			copies, timed := 0, 0
			for i, got := range s.Verdicts(f, 500) {
				unit := f.tick.divide(uint64(i))
				if c.Window.Packets == 0 {
					unit = f.tick.divide(uint64(s.Times[i]) ^ 1<<63)
				}
				want := (s.Times[i] != calendar.NoTime || c.Window.Packets > 0) && reference.TestAndSetAt(s.Digests[i], unit-f.tick.divide(1<<63))
				if got != want {
					t.Fatalf("%+v, %s: packet %d: copy %v, want %v", c, name, i, got, want)
				}
				if timed++; got {
					copies++
				}
			}
			if copies == 0 || copies == timed {
				t.Errorf("%+v, %s: %d copies: the stream tests nothing", c, name, copies)
			}
		}
	}
}

// TestTimersWindow places a copy at every distance around the end of the window.
func TestTimersWindow(t *testing.T) {
	for _, text := range []string{"1ns", "126ns", "127ns", "1ms", "1h", "n:1", "n:1000"} {
		for _, bits := range []int{8, 16} {
			w := mustWindow(t, text)
			size := int64(w.Duration) + w.Packets
			tick := int64(newTimers(t, TimersConfig{Window: w, Memory: 6400, TimerBits: bits}).tick.by)
			for _, distance := range []int64{0, 1, size / 2, size - 1, size, size + 2*tick} {
				if w.Packets > 0 && distance == 0 {
					continue
				}
				f := newTimers(t, TimersConfig{Window: w, Memory: 6400, TimerBits: bits})
				s := &check.Packets{}
				s.Add(digest.Digest{1, 1}, 5, 0)
				if w.Packets > 0 {
					for i := range distance - 1 {
						s.Add(digest.Digest{uint64(i), 1 << 60}, 5, 0)
					}
				}
				s.Add(digest.Digest{1, 1}, 5+distance, 0)
				if got := s.Verdicts(f, 300); got[len(got)-1] != (distance <= size) {
					t.Errorf("window %s, %d bits: a copy %d later is found: %v", text, bits, distance, got[len(got)-1])
				}
			}
		}
	}
}

// TestTimersLog compares filters with and without a log of lines, where bursts that
// overflow it and packets that come rarely follow each other.
func TestTimersLog(t *testing.T) {
	for name, next := range map[string]func(rng *rand.Rand, now int64) int64{
		"rare": check.Clocks(1_000_000)["slow"], "in order": check.Clocks(1_000_000)["in order"], "jumps": check.Clocks(1_000_000)["jumps"],
		"bursts": func(rng *rand.Rand, now int64) int64 {
			if now/100_000_000%2 == 0 { // of 20 windows, a packet each microsecond
				return now + 1000 + 100_000_000*(now%100_000_000/20_000_000)
			}
			return now + rng.Int64N(2_000_000)
		},
	} {
		c := TimersConfig{Window: oneMillisecond, Memory: 4000 * layout.LineSize, K: 3, Refresh: name == "rare"}
		f, plain := newTimers(t, c), newTimers(t, c)
		plain.log = newTimersLog(0)
		s := check.RandomPackets(85, 60_000, next)
		var whole, full bool
		for at := 0; at < len(s.Times); at += 200 {
			part := s.Part(at, at+200)
			if !slices.Equal(part.Verdicts(f, 150), part.Verdicts(plain, 150)) {
				t.Fatalf("%s: other verdicts from packet %d on", name, at)
			}
			whole = whole || f.log.whole && f.counts.NonZero > 0
			full = full || f.log.full
		}
		if got, want := f.Stats(), plain.Stats(); got != want || !slices.Equal(f.arena.Lines(), plain.arena.Lines()) {
			t.Errorf("%s: %+v, without a log %+v", name, got, want)
		}
		if !whole || full != (name == "bursts") {
			t.Errorf("%s: the log is whole: %v, it overflows: %v", name, whole, full)
		}
	}
}

// TestTimersRate measures false positives among new elements. The share of timers that
// run is known from sweeps, some ticks apart. The two timers of K = 2 lie in one of eight
// pairs of eighths, so two elements share both more often.
func TestTimersRate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 200_000
	for _, c := range []TimersConfig{{}, {K: 7}, {K: 4}, {K: 3}, {K: 2}, {K: 4, TimerBits: 16}, {K: 1}} {
		for _, load := range []int64{1, 4} { // elements in a line
			c.Memory = 512 * layout.LineSize
			c.Window = Window{Packets: 512 * load}
			f := newTimers(t, c)
			s := uniquePackets(n, 0)
			found := 0
			for _, isCopy := range s.Verdicts(f, 1000)[n/10:] {
				if isCopy {
					found++
				}
			}
			got, want := float64(found)/(0.9*n), f.Stats().PredictedFPR
			noise, most := 5*math.Sqrt(want/n), 1.15
			if c.K == 2 {
				most = 1.6
			}
			if got > most*want+noise || got < 0.8*want-noise {
				t.Errorf("%+v, %d elements in a line: rate %.3g, predicted %.3g", c, load, got, want)
			}
		}
	}
}

// BenchmarkTimers has windows that hold all repeated elements: the last 16,384.
func BenchmarkTimers(b *testing.B) {
	check.BenchSizes(b, func(b *testing.B, memory int) {
		for _, text := range []string{"1ms", "1s"} {
			b.Run("window="+text, func(b *testing.B) {
				w := mustWindow(b, text)
				f := newTimers(b, TimersConfig{Window: w, Memory: memory})
				interval := w.Duration.Nanoseconds() / 16384
				s, now := check.NewBenchStream(), int64(1_700_000_000_000_000_000)
				times, seen := make([]int64, check.BenchBatch), make([]uint64, check.BenchBatch/64)
				next := func() {
					s.Next(128)
					for i := range times {
						now += interval
						times[i] = now
					}
				}
				check.Measure(b, check.BenchBatch, next, func() { f.TestAndSet(seen, s.Batch, times, nil) })
			})
		}
	})
}

// BenchmarkTimersSparse has packets that come rarely for the window: each after a full
// sweep's time, a hundredth of it, or a thousand windows.
func BenchmarkTimersSparse(b *testing.B) {
	for _, gap := range []time.Duration{10 * time.Microsecond, time.Millisecond, time.Second} {
		b.Run("gap="+gap.String(), func(b *testing.B) {
			f := newTimers(b, TimersConfig{Window: oneMillisecond})
			s, now := check.NewBenchStream(), int64(1_700_000_000_000_000_000)
			times, seen := make([]int64, check.BenchBatch), make([]uint64, check.BenchBatch/64)
			next := func() {
				s.Next(128)
				for i := range times {
					now += gap.Nanoseconds()
					times[i] = now
				}
			}
			check.Measure(b, check.BenchBatch, next, func() { f.TestAndSet(seen, s.Batch, times, nil) })
		})
	}
}

// TestTimersEdge looks for the longest gap at which a copy is found: EdgeError says by how
// much it may exceed the window, and it does where the original came at the begin of a tick.
func TestTimersEdge(t *testing.T) {
	for _, bits := range []int{8, 16} {
		for _, size := range []int64{1, 100, 126, 127, 130, 1000, 1_000_000, 12_345_678} {
			c := TimersConfig{Window: Window{Duration: time.Duration(size)}, Memory: 6400, TimerBits: bits}
			found := func(gap int64) bool {
				f, err := NewTimers(c)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				first := int64(f.tick.by*1000) + math.MinInt64
				var seen [1]uint64
				f.TestAndSet(seen[:], make([]digest.Digest, 2), []int64{first, first + gap}, nil)
				return seen[0] == 2
			}
			f, err := NewTimers(c)
			if err != nil {
				t.Fatal(err)
			}
			edge := f.Stats().EdgeError
			f.Close()
			longest := size + int64(math.Round(edge*float64(size)))
			if edge > 0.016 || !found(size) || !found(longest) || found(longest+1) {
				t.Errorf("%d bits, window %d: edge error %g", bits, size, edge)
			}
		}
	}
}

// TestTimersPredicted gives timers new elements only. The rate they meet is at most the
// predicted one, for any number of timers an element has, as is the share of timers that run.
func TestTimersPredicted(t *testing.T) {
	const window, calls = 4096, 200
	rng := rand.New(rand.NewPCG(7, 8))
	for k := 1; k <= 8; k++ {
		f, err := NewTimers(TimersConfig{Window: Window{Packets: window}, Memory: window / 2 * 64, K: k})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wrong, n := 0.0, 0.0
		for call := range calls {
			var digests [1024]digest.Digest
			var seen [1024 / 64]uint64
			for i := range digests {
				digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
			}
			f.TestAndSet(seen[:], digests[:], make([]int64, 1024), nil)
			if call > 2*window/1024 {
				wrong, n = wrong+float64(check.CountBits(seen[:])), n+1024
			}
		}
		st := f.Stats()
		if fill := -math.Expm1(-float64(k) * window / float64(f.timers())); st.Fill < fill || st.Fill > 1.2*fill { // some have just left
			t.Errorf("K = %d: %v of the timers run, want %v", k, st.Fill, fill)
		}
		if predicted := st.PredictedFPR; wrong/n > predicted+5*math.Sqrt(predicted/n) || wrong/n < 0.8*predicted-5*math.Sqrt(predicted/n) {
			t.Errorf("K = %d: %.3g, predicted %.3g", k, wrong/n, predicted)
		}
	}
}
