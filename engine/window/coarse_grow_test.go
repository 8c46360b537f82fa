// SPDX-License-Identifier: Apache-2.0

package window

import (
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// TestCoarseGrows begins with far too few lines for a stream, whose packets come again
// after up to 0.8 of the window: the filter grows in few steps to the window's need, and
// misses nothing once it is large enough.
func TestCoarseGrows(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		least, most := 7.5, 9.5
		if fine {
			least, most = 10, 12.5
		}
		for _, whenReady := range []bool{false, true} {
			const live, start = 50_000, 64
			w := Window{Duration: 50 * time.Millisecond}
			f := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: start * layout.LineSize, Limit: 64 << 20})
			if whenReady {
				f.GrowWhenReady()
			}
			s := uniquePackets(4*live, int64(w.Duration)/live)
			arenas, before := 1, f.lines
			for from := 0; from < len(s.Digests); from += 500 {
				if whenReady && f.growth.next != nil {
					<-f.growth.next.done
				}
				part := s.Part(from, from+500)
				part.Verdicts(f, 500)
				if f.lines != before {
					arenas, before = arenas+1, f.lines
				}
			}
			st := f.Stats()
			bytes := float64(st.MemoryBytes) / live
			if bytes < least || bytes > most || len(f.growth.older) > 0 || arenas > 5 {
				t.Errorf("%.1f bytes for each packet, %d older rows, %d in all", bytes, len(f.growth.older), arenas)
			}
			again, last := check.Packets{}, s.Times[len(s.Times)-1]
			for _, d := range s.Digests[len(s.Digests)-live*4/5:] {
				again.Add(d, last, 0)
			}
			missed := 0
			for _, isCopy := range again.Verdicts(f, 1000) {
				if !isCopy {
					missed++
				}
			}
			if missed > 1 || st.EvictedLive > live/200 {
				t.Errorf("%d of %d missed, %d evicted", missed, live*4/5, st.EvictedLive)
			}
		}
	})
}

// TestCoarseGrowsCapped has a limit: the filter stays below it, and reports its evictions
// and the memory that would have been enough.
func TestCoarseGrowsCapped(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		const live = 50_000
		w := Window{Duration: 50 * time.Millisecond}
		stream := uniquePackets(3*live, int64(w.Duration)/live)
		small := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: 64 * layout.LineSize, Limit: 200 << 10})
		stream.Verdicts(small, 1000)
		st := small.Stats()
		if st.MemoryBytes > 200<<10 || st.EvictedLive == 0 || st.SuggestedMemory == 0 {
			t.Errorf("%+v", st)
		}
		enough := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: st.SuggestedMemory})
		stream.Verdicts(enough, 1000)
		if st := enough.Stats(); st.EvictedLive > 5 {
			t.Errorf("with %d bytes, as suggested: %d evicted", st.MemoryBytes, st.EvictedLive)
		}
	})
}

// TestCoarseGrowsUnseen compares a filter that grows, with bursts, with one that was
// large from the beginning: they differ at most in evictions.
func TestCoarseGrowsUnseen(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		for _, refresh := range []bool{false, true} {
			for _, text := range []string{"50ms", "1s"} {
				w := mustWindow(t, text)
				s := burstStream(100_000, int64(w.Duration), int64(w.Duration)/2500)
				f := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: 512 * layout.LineSize, Limit: 16 << 20, Refresh: refresh})
				large := newCoarse(t, CoarseConfig{Window: w, Fine: fine, Memory: 16 << 20, Refresh: refresh})
				got, want, differ := s.Verdicts(f, 1000), s.Verdicts(large, 1000), uint64(0)
				for i := range want {
					if got[i] != want[i] {
						differ++
					}
				}
				if st := f.Stats(); differ > 2*st.EvictedLive || st.EvictedLive > 100 || f.lines < 1000 || len(f.growth.older) > 0 {
					t.Errorf("window %s, refresh %v: %d verdicts differ; %d lines, %+v", text, refresh, differ, f.lines, st)
				}
			}
		}
	})
}

// TestCoarseCloses gives all memory back, in the middle of growing, too.
func TestCoarseCloses(t *testing.T) {
	for _, grown := range []bool{false, true} {
		f, err := NewCoarse(CoarseConfig{Window: Window{Duration: 50 * time.Millisecond}, Memory: 64 * layout.LineSize, Limit: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		s := uniquePackets(3000, 1000)
		for at := 0; f.growth.next == nil && len(f.growth.older) == 0 || grown && len(f.growth.older) == 0; at += 64 {
			if at+64 > len(s.Digests) {
				t.Fatal("the filter does not grow")
			}
			s.Part(at, at+64).Verdicts(f, 64)
		}
		if err := f.Close(); err != nil || f.growth.next != nil || f.growth.older != nil {
			t.Errorf("error %v, growth %+v", err, f.growth)
		}
	}
}
