// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// hardStream makes pairs of an element and its copy, which comes up to a window later.
// Few elements of a stream come twice, so that a missed copy changes nothing else.
type hardStream struct {
	*check.Packets
	rng     *rand.Rand
	window  int64 // in nanoseconds
	perLine float64
	lines   int
	place   func(s *hardStream, i int) uint64           // chooses the line
	clock   func(s *hardStream, i int, now int64) int64 // the packet's own time
	step    func(s *hardStream, i int) int64            // time until the next one
	due     map[int][]int                               // copies by position
	real    []int64                                     // when elements came
}

// make makes n elements, a fifth of them copies.
func (s *hardStream) make(n int) {
	s.Packets, s.due = &check.Packets{}, map[int][]int{}
	now, live := int64(1_700_000_000_000_000_000), s.perLine*float64(s.lines)
	for i := range n {
		now += s.step(s, i)
		s.real = append(s.real, now)
		if from := s.due[i]; len(from) > 0 && now-s.real[from[0]] <= s.window {
			s.Add(s.Digests[from[0]], s.clock(s, i, now), 1)
			continue
		}
		s.Add(digest.Digest{s.rng.Uint64(), s.place(s, i)}, s.clock(s, i, now), 0)
		if at := i + 1 + s.rng.IntN(max(1, int(live))); s.rng.IntN(4) == 0 && len(s.due[at]) == 0 {
			s.due[at] = []int{i}
		}
	}
}

// steady has perLine elements of a window in a line.
func steady(s *hardStream, _ int) int64 {
	return max(1, int64(float64(s.window)/(s.perLine*float64(s.lines))))
}

func anywhere(s *hardStream, _ int) uint64             { return s.rng.Uint64() }
func rightClock(_ *hardStream, _ int, now int64) int64 { return now }
func jitter(part float64) func(*hardStream, int, int64) int64 {
	return func(s *hardStream, _ int, now int64) int64 {
		return now - s.rng.Int64N(1+int64(part*float64(s.window)))
	}
}

// TestTimedMissesNothingInSilence compares the filter with Exact, for streams that are
// hard to remember: misses never exceed the elements that the filter reports as evicted
// or late.
func TestTimedMissesNothingInSilence(t *testing.T) {
	const year = int64(365 * 24 * time.Hour)
	type places = func(*hardStream, int) uint64
	type clocks = func(*hardStream, int, int64) int64
	type steps = func(*hardStream, int) int64
	for _, c := range []struct {
		name  string
		place places
		clock clocks
		step  steps
	}{
		{"steady", anywhere, rightClock, steady},
		{"one line", func(*hardStream, int) uint64 { return 1 << 60 }, rightClock, steady},
		{"lines of one spare line", func(s *hardStream, _ int) uint64 { return s.rng.Uint64N(1 << 58) }, rightClock, steady},
		{"equal low bits", func(s *hardStream, _ int) uint64 { return s.rng.Uint64() &^ (1<<40 - 1) }, rightClock, steady},
		{"sequential", func(s *hardStream, i int) uint64 { return uint64(i) * (1 << 53) }, rightClock, steady},
		{"some lines are busy", func(s *hardStream, _ int) uint64 { return s.rng.Uint64() >> s.rng.IntN(20) }, rightClock, steady},
		{"bursts", anywhere, rightClock, func(s *hardStream, i int) int64 {
			if burst := 40 * layout.TimedCells * s.lines; i%burst != 0 {
				return 0
			}
			return 2 * s.window
		}},
		{"bursts and pauses", anywhere, rightClock, func(s *hardStream, i int) int64 {
			if s.rng.IntN(200) == 0 {
				return s.rng.Int64N(20 * s.window)
			}
			return s.rng.Int64N(1 + steady(s, i))
		}},
		{"slow", anywhere, rightClock, func(s *hardStream, _ int) int64 { return s.rng.Int64N(3 * s.window) }},
		{"jitter of a tenth", anywhere, jitter(0.1), steady},
		{"jitter of a half", anywhere, jitter(0.5), steady},
		{"jitter of windows", anywhere, jitter(5), steady},
		{"time back", anywhere, func(s *hardStream, i int, now int64) int64 {
			return now - int64(i/4000)*3000*steady(s, i)
		}, steady},
		{"time stands still", anywhere, func(*hardStream, int, int64) int64 { return 1e18 }, steady},
		{"wild clocks", anywhere, func(s *hardStream, i int, now int64) int64 {
			if s.due[i] == nil && s.rng.IntN(50) == 0 { // none that is a copy
				return now + s.rng.Int64N(2*year) - year
			}
			return now
		}, steady},
		{"a point ahead", anywhere, func(s *hardStream, i int, now int64) int64 {
			return now + int64(i%2)*s.window/2
		}, steady},
		{"without times", anywhere, func(s *hardStream, _ int, now int64) int64 {
			if s.rng.IntN(10) == 0 {
				return calendar.NoTime
			}
			return now
		}, steady},
	} {
		for _, text := range []string{"1ns", "1s", "1h", "n:2000"} {
			t.Run(c.name+"/"+text, func(t *testing.T) {
				if testing.Short() && text != "1s" {
					t.Skip("one window is enough for a short run")
				}
				w := mustWindow(t, text)
				for at, lines := range []int{1, 40, 300, 40, 300} {
					for _, load := range []float64{0.5, 2, 6} {
						s := &hardStream{
							rng: rand.New(rand.NewPCG(1, uint64(lines))), window: max(int64(w.Duration), w.Packets),
							perLine: load, lines: lines, place: c.place, clock: c.clock, step: c.step,
						}
						s.make(12_000)
						memory := lines * layout.LineSize
						for _, cfg := range [][]TimedConfig{
							{{Memory: memory}, {Memory: memory, Refresh: true}}, {{Memory: memory, Limit: 4 * memory}, {Memory: memory, Across: true}},
						}[at/3] {
							cfg.Window = w
							s.checkMisses(t, cfg)
						}
					}
				}
			})
		}
	}
}

// TestTimedMissesNoneOfPopular has elements that come again and again, some far more
// often than others. Copies renew them, so that a missed copy changes nothing else.
func TestTimedMissesNoneOfPopular(t *testing.T) {
	for _, load := range []float64{1, 4, 20} {
		const lines = 200
		s := &hardStream{Packets: &check.Packets{}, perLine: load, lines: lines}
		rng := rand.New(rand.NewPCG(3, 3))
		zipf := rand.NewZipf(rng, 1.2, 10, 100_000)
		window := int64(time.Second)
		for i := range 60_000 {
			rank := zipf.Uint64() + 1
			d := digest.Digest{rank * 0x9e3779b97f4a7c15, rank * 0xbf58476d1ce4e5b9}
			s.Add(d, int64(i)*int64(float64(window)/(load*lines)), 0)
		}
		s.checkMisses(t, TimedConfig{Window: Window{Duration: time.Second}, Memory: lines * layout.LineSize, Refresh: true})
	}
}

// checkMisses has a filter and Exact take the stream.
func (s *hardStream) checkMisses(t *testing.T, cfg TimedConfig) {
	t.Helper()
	f := newTimed(t, cfg)
	s.Round(int64(f.tick.by))
	exact, err := NewExact(ExactConfig{Window: cfg.Window, Refresh: cfg.Refresh, Across: cfg.Across})
	if err != nil {
		t.Fatal(err)
	}
	defer exact.Close()
	got, want := s.Verdicts(f, 4096), s.Verdicts(exact, 4096)
	missed, first := uint64(0), 0
	for i := range want {
		if want[i] && !got[i] {
			if missed == 0 {
				first = i
			}
			missed++
		}
	}
	st := f.Stats()
	if missed > st.EvictedLive+st.Late.Elements {
		t.Errorf("%s: %d missed, the first at %d", describe(cfg, s, st), missed, first)
	}
}

func describe(cfg TimedConfig, s *hardStream, st engine.PacketStats) string {
	return fmt.Sprintf("%d lines, load %v, refresh %v, across %v, limit %d: %d evicted, %d late",
		s.lines, s.perLine, cfg.Refresh, cfg.Across, cfg.Limit, st.EvictedLive, st.Late.Elements)
}
