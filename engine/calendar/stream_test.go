// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const hour = int64(time.Hour)

// bin is the content of a test's windows.
type bin struct {
	start, end int64
	packets    int
}

// recorder keeps the closed windows in the order of their closing.
type recorder struct {
	t      *testing.T
	closed []bin
	open   int
	most   int
	again  bool // windows may close twice
}

func (r *recorder) windows(every time.Duration) *Stream[bin] {
	return NewStream(StreamConfig[bin]{
		Calendar: Calendar{Every: every},
		Open: func(start, end int64) *bin {
			r.open++
			r.most = max(r.most, r.open)
			return &bin{start: start, end: end}
		},
		Close: func(start, end int64, content *bin) {
			r.open--
			if content.start != start || content.end != end {
				r.t.Errorf("window %d to %d closes with the content of %d to %d", start, end, content.start, content.end)
			}
			for _, b := range r.closed {
				if b.start == start && !r.again {
					r.t.Errorf("window %d closes twice", start)
				}
			}
			r.closed = append(r.closed, *content)
		},
	})
}

// feedTimes sends times in batches and checks that runs have the promised bounds.
func feedTimes(t *testing.T, w *Stream[bin], times []int64, batch int) {
	t.Helper()
	for at := 0; at < len(times); at += batch {
		part := times[at:min(at+batch, len(times))]
		for len(part) > 0 {
			n, content := w.Run(part)
			if n < 1 || n > len(part) {
				t.Fatalf("a run of %d of %d", n, len(part))
			}
			if content != nil {
				content.packets += n
				for _, at := range part[:n] {
					if at != NoTime && !within(at, content.start, content.end) || at == NoTime && content.start != NoTime {
						t.Fatalf("%d is put into %d to %d", at, content.start, content.end)
					}
				}
			}
			part = part[n:]
		}
	}
}

// windowAt runs a single packet.
func windowAt(w *Stream[bin], t int64) *bin {
	_, content := w.Run([]int64{t})
	return content
}

// naive counts packets by window, in a map.
func naive(times []int64, every int64) []bin {
	counts := map[int64]int{}
	for _, at := range times {
		if at == NoTime {
			counts[NoTime]++
			continue
		}
		counts[at-Phase(at, every)]++
	}
	var bins []bin
	for start, n := range counts {
		if start != NoTime {
			bins = append(bins, bin{start, start + every, n})
		}
	}
	slices.SortFunc(bins, func(a, b bin) int { return cmp.Compare(a.start, b.start) })
	if n := counts[NoTime]; n > 0 {
		bins = append(bins, bin{NoTime, NoTime, n})
	}
	return bins
}

// Streams within the limits are sorted as a map would sort them.
func TestStreamAgainstMap(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(81, seed))
		times := make([]int64, 20_000)
		now := int64(1.7e18)
		for i := range times {
			now += rng.Int64N(int64(2 * time.Second))
			times[i] = now - rng.Int64N(hour/2)
			switch rng.IntN(500) {
			case 0:
				times[i] = NoTime
			case 1:
				times[i] = now + rng.Int64N(20)*hour*1000 // some from far ahead
			}
		}
		for _, batch := range []int{1, 100, 1000, 20_000} {
			r := &recorder{t: t}
			w := r.windows(time.Hour)
			feedTimes(t, w, times, batch)
			w.Close()
			if want := naive(times, hour); !slices.Equal(r.closed, want) {
				t.Fatalf("seed %d, batch %d: %d windows %v\nwant %d: %v", seed, batch, len(r.closed), r.closed, len(want), want)
			}
			if w.Late() != 0 {
				t.Errorf("%d late", w.Late())
			}
		}
	}
}

func TestStreamExtremes(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	times := []int64{math.MaxInt64, math.MinInt64 + 1, NoTime, 0, -1, math.MaxInt64 - 1, NoTime, math.MaxInt64}
	feedTimes(t, w, times, 3)
	w.Close()
	var packets []int
	for _, b := range r.closed {
		packets = append(packets, b.packets)
	}
	if want := []int{1, 1, 1, 3, 2}; !slices.Equal(packets, want) {
		t.Errorf("windows of %v packets, want %v", packets, want)
	}
	if n, content := w.Run(nil); n != 0 || content != nil {
		t.Error("a run of nothing")
	}
}

// repeat returns n times the same instant.
func repeat(at int64, n int) []int64 {
	return slices.Repeat([]int64{at}, n)
}

func TestStreamCloseWhenIdle(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	feedTimes(t, w, repeat(0, 10), 100)
	feedTimes(t, w, repeat(500*hour, 1), 100) // a wrong stamp
	feedTimes(t, w, repeat(hour, idlePackets-10), 10_000)
	feedTimes(t, w, repeat(0, 5), 100) // stragglers keep it open
	feedTimes(t, w, repeat(hour, idlePackets), 10_000)
	if len(r.closed) != 0 {
		t.Fatalf("closed early: %v", r.closed)
	}
	feedTimes(t, w, repeat(hour, 2*sweepPackets), 10_000)
	if want := []bin{{0, hour, 15}}; !slices.Equal(r.closed, want) {
		t.Fatalf("closed %v, want %v", r.closed, want)
	}
	if content := windowAt(w, 1); content != nil {
		t.Error("a packet of a closed window is not late")
	}
	feedTimes(t, w, repeat(0, 6), 100)
	feedTimes(t, w, repeat(2*hour, 5), 100)
	feedTimes(t, w, repeat(500*hour, 1), 100)
	w.Close()
	want := []bin{{0, hour, 15}, {hour, 2 * hour, 2*idlePackets - 10 + 2*sweepPackets}, {2 * hour, 3 * hour, 5}, {500 * hour, 501 * hour, 2}}
	if !slices.Equal(r.closed, want) {
		t.Errorf("closed %v, want %v", r.closed, want)
	}
	if w.Late() != 7 {
		t.Errorf("%d late, want 7", w.Late())
	}
}

// A sparse capture of many hours closes them in order.
func TestStreamOfALongCapture(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	var times []int64
	for i := range int64(1000) {
		times = append(times, 3*i*hour, 3*i*hour+5, 3*i*hour-hour/2)
	}
	feedTimes(t, w, times, 77)
	w.Close()
	if n := len(naive(times, hour)); len(r.closed) != n || w.Late() != 0 {
		t.Errorf("%d windows, want %d; %d late", len(r.closed), n, w.Late())
	}
	if r.most != maxOpenWindows {
		t.Errorf("%d windows were open at once", r.most)
	}
}

// Closing does not depend on how the stream is cut.
func TestStreamBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	var times []int64
	for range 3000 {
		times = append(times, repeat(rng.Int64N(150)*hour, rng.IntN(1000))...)
	}
	var want []bin
	var late uint64
	for _, batch := range []int{1, 999, 4096, len(times)} {
		r := &recorder{t: t}
		w := r.windows(time.Hour)
		feedTimes(t, w, times, batch)
		w.Close()
		if want == nil {
			want, late = r.closed, w.Late()
		}
		if !slices.Equal(r.closed, want) || w.Late() != late {
			t.Errorf("batch %d: the windows or the %d late ones differ", batch, w.Late())
		}
	}
	if late == 0 {
		t.Error("the stream is too tame for this test")
	}
}

func TestTimeSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 88))
	var s timeSpans
	known := map[int64]bool{}
	for range 300 {
		start := rng.Int64N(1000)
		end := start + 1 + rng.Int64N(4)
		s.add(start, end)
		for at := start; at < end; at++ {
			known[at] = true
		}
		for at := range int64(1010) {
			if s.holds(at) != known[at] {
				t.Fatalf("%d is held: %v", at, s.holds(at))
			}
		}
	}
	for i := 1; i < len(s.spans); i++ {
		if s.spans[i].start <= s.spans[i-1].end {
			t.Fatalf("spans %v and %v touch", s.spans[i-1], s.spans[i])
		}
	}
	for from := int64(1010); from >= 0; from -= 1 + rng.Int64N(9) {
		s.cut(from)
		for at := range int64(1010) {
			if s.holds(at) != (known[at] && at < from) {
				t.Fatalf("%d is held without those from %d on: %v", at, from, s.holds(at))
			}
		}
	}
}

// When there are too many spans, the shortest gap goes.
func TestTimeSpansAreBounded(t *testing.T) {
	var s timeSpans
	s.add(math.MinInt64+1, -1e18)
	for i := range int64(maxTimeSpans) {
		s.add(100*i, 100*i+10+i%50)
	}
	if len(s.spans) != maxTimeSpans {
		t.Errorf("%d spans", len(s.spans))
	}
	if !s.holds(4999) || s.holds(-1) || !s.holds(0) || !s.holds(math.MinInt64+1) {
		t.Error("not the shortest gap was closed")
	}
}

func FuzzStream(f *testing.F) {
	f.Add(uint64(1), uint16(100), uint8(0))
	f.Add(uint64(2), uint16(3000), uint8(7))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, wildness uint8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(rng.Uint64()) >> (rng.IntN(int(wildness)+1) % 64)
		}
		r := &recorder{t: t}
		w := r.windows(time.Hour)
		feedTimes(t, w, times, 100)
		w.Close()
		total := int(w.Late())
		for _, b := range r.closed {
			total += b.packets
		}
		if total != len(times) || r.open != 0 || r.most > maxOpenWindows+1 || len(w.closed.spans) > maxTimeSpans {
			t.Errorf("%d of %d packets, %d windows left open, at most %d at once", total, len(times), r.open, r.most)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for _, run := range []int{1, 16, 1024} {
		b.Run(fmt.Sprintf("run=%d", run), func(b *testing.B) {
			r := &recorder{}
			w := r.windows(time.Hour)
			times := make([]int64, 4096)
			for i := range times {
				times[i] = int64(i/run%2) * hour
			}
			for b.Loop() {
				for part := times; len(part) > 0; {
					n, _ := w.Run(part)
					part = part[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/element")
		})
	}
}
