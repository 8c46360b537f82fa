// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A burst of a thousand wrong stamps between good ones: the window of the good ones
// stays, memory is bounded, and no window comes back.
func TestStreamSurviveWildStamps(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	feedTimes(t, w, repeat(1000*hour, 100), 100)
	wild := make([]int64, 1000)
	for i := range wild {
		wild[i] = max(int64(rng.Uint64()), beginOfTime)
	}
	feedTimes(t, w, wild, 100)
	feedTimes(t, w, repeat(1000*hour, 100), 100)
	feedTimes(t, w, repeat(1001*hour, 100), 100)
	w.Close()
	if r.most > maxOpenWindows {
		t.Errorf("%d windows were open at once", r.most)
	}
	for _, want := range []bin{{1000 * hour, 1001 * hour, 200}, {1001 * hour, 1002 * hour, 100}} {
		if !slices.Contains(r.closed, want) {
			t.Errorf("window %v is not among the closed ones", want)
		}
	}
	total := int(w.Late())
	for _, b := range r.closed {
		total += b.packets
	}
	if total != 1300 {
		t.Errorf("%d packets are accounted for, of 1300", total)
	}
}

// Runs of wrong stamps ascend, each in another window, and begin far ahead: no good packet is late.
// The windows of good packets close in order before and behind a pause as long.
func TestStreamJumps(t *testing.T) {
	for _, step := range []int64{1, 1000} {
		r := &recorder{t: t}
		w := r.windows(time.Hour)
		var good []int64
		for i := range int64(20) {
			good = append(good, repeat(i*hour, 1000)...)
		}
		feedTimes(t, w, good, 100)
		for i := range int64(200) {
			feedTimes(t, w, []int64{(9000 + i*step) * hour}, 100)
		}
		if feedTimes(t, w, repeat(19*hour, 10), 100); w.Late() > 0 || r.most > maxOpenWindows {
			t.Errorf("wrong stamps, a step of %d: %d late, %d windows open at once", step, w.Late(), r.most)
		}
		r = &recorder{t: t}
		w = r.windows(time.Hour)
		for i := range int64(200) {
			good = append(good, repeat((9000+i*step)*hour, 100)...)
		}
		feedTimes(t, w, good, 100)
		w.Close()
		if w.Late() > 0 || !slices.Equal(r.closed, naive(good, hour)) {
			t.Errorf("a pause, steps of %d behind it: %d late; closed %v", step, w.Late(), r.closed)
		}
	}
}

// Among windows of random numbers, many of them equal, the one that makes room is the one
// without a packet for longest behind the eight with the most packets.
func TestUnsheltered(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	for round := range int64(1000) {
		span := 1 + round%20 // 1: all as Resume leaves them
		var w Stream[bin]
		byPackets := make([]int, maxOpenWindows)
		for i := range byPackets {
			w.open = append(w.open, openWindow[bin]{packets: rng.Int64N(3), touched: rng.Int64N(span)})
			byPackets[i] = i
		}
		slices.SortStableFunc(byPackets, func(i, j int) int {
			a, b := w.open[i], w.open[j]
			return cmp.Or(cmp.Compare(b.packets, a.packets), cmp.Compare(b.touched, a.touched))
		})
		others := byPackets[shelteredWindows:]
		slices.Sort(others)
		want := slices.MinFunc(others, func(i, j int) int { return cmp.Compare(w.open[i].touched, w.open[j].touched) })
		if got := w.unsheltered(); got != want {
			t.Fatalf("window %d makes room, want %d: %v", got, want, w.open)
		}
	}
}

// Windows of a stream that goes on in time close in order, whatever their packets. Now and
// then the last packet of a window comes after those of the next one. Windows of a few
// wrong stamps from the future close last.
func TestStreamGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 88))
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	for i := range int64(1000) {
		times := repeat(i*hour, 1+rng.IntN(20))
		if i%50 == 20 {
			times = append(times, repeat((i-1)*hour, 1)...)
		}
		if i%100 == 30 {
			times = append(times, (5000-i)*hour)
		}
		feedTimes(t, w, append(times, i*hour), 100)
	}
	w.Close()
	if w.Late() > 0 {
		t.Errorf("%d packets are late", w.Late())
	}
	for i, b := range r.closed[1:] {
		if b.start < r.closed[i].start {
			t.Errorf("window %v closes after %v", b, r.closed[i])
		}
	}
}

func TestEvictOldest(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	if w.EvictOldest() {
		t.Error("nothing was open")
	}
	feedTimes(t, w, []int64{NoTime, 5 * hour, 3 * hour, 4 * hour, 5 * hour}, 2)
	var open []int64
	for b := range w.All() {
		open = append(open, b.start)
		if b.start != NoTime && (!w.IsOpen(b.start) || !w.IsOpen(b.end-1)) {
			t.Errorf("window %v is not open", b)
		}
	}
	if w.IsOpen(3*hour-1) || w.IsOpen(6*hour) || w.IsOpen(NoTime) {
		t.Error("a window without packets is open")
	}
	if want := []int64{3 * hour, 4 * hour, 5 * hour, NoTime}; !slices.Equal(open, want) {
		t.Errorf("open are %v", open)
	}
	for _, want := range []int64{3 * hour, 4 * hour} {
		if !w.EvictOldest() || r.closed[len(r.closed)-1].start != want {
			t.Errorf("closed %v, want window %d last", r.closed, want)
		}
	}
	if w.EvictOldest() {
		t.Error("the window in use was closed")
	}
	if w.IsOpen(3 * hour) {
		t.Error("a closed window is open")
	}
	if windowAt(w, 3*hour) != nil || windowAt(w, 5*hour) == nil || windowAt(w, NoTime) == nil {
		t.Error("the wrong windows are closed")
	}
	w.Close()
	if windowAt(w, 5*hour) != nil || w.Late() != 2 || w.LateEvicted() != 1 {
		t.Errorf("after Close: %d late, %d of them in windows that were evicted", w.Late(), w.LateEvicted())
	}
}

// Stamps are late by up to 60 windows, at random or as two capture points are: all windows
// close once and in order, with all their packets, whether they have many or few.
func TestStreamOfJitter(t *testing.T) {
	for name, lag := range map[string]func(i int64, rng *rand.Rand) int64{
		"random":     func(_ int64, rng *rand.Rand) int64 { return rng.Int64N(55 * hour) },
		"two points": func(i int64, _ *rand.Rand) int64 { return i % 2 * 59 * hour },
	} {
		for _, every := range []int64{2, 40, 1000} { // packets a window
			rng := rand.New(rand.NewPCG(89, uint64(every)))
			r := &recorder{t: t}
			w := r.windows(time.Hour)
			times := make([]int64, 400*every)
			for i := range int64(len(times)) {
				times[i] = 1000*hour + i*hour/every - lag(i, rng)
			}
			feedTimes(t, w, times, 1000)
			w.Close()
			if w.Late() > 0 || !slices.Equal(r.closed, naive(times, hour)) {
				t.Errorf("%s, %d packets a window: %d late; closed %v", name, every, w.Late(), r.closed)
			}
		}
	}
}

// A capture point is three windows behind another, and there are more packets in between
// than after which a window is idle. All are counted. One that is a hundred windows behind
// has no effect on the windows of the other.
func TestStreamOfTwoPoints(t *testing.T) {
	for _, c := range []struct {
		behind int64
		closed int // before the end
	}{{3, 2}, {100, 4}} {
		r := &recorder{t: t}
		w := r.windows(time.Hour)
		for i := range int64(4) {
			times := repeat((1000+i)*hour, idlePackets*2/3)
			for n := 0; n < len(times); n += 2 {
				times[n] -= c.behind * hour
			}
			feedTimes(t, w, times, 10_000)
		}
		if len(r.closed) != c.closed {
			t.Errorf("%d windows behind: closed %v", c.behind, r.closed)
		}
		w.Close()
		if w.Late() > 0 {
			t.Errorf("%d windows behind: %d late", c.behind, w.Late())
		}
	}
}

// Packets of windows that the caller skips are late, also of the one that would open next.
// Those of open windows are not.
func TestSkip(t *testing.T) {
	var w *Stream[bin]
	w = NewStream(StreamConfig[bin]{
		Calendar: Calendar{Every: time.Hour},
		Open:     func(start, end int64) *bin { return &bin{start: start, end: end} },
		Close:    func(start, _ int64, _ *bin) { w.Skip(start, 70*hour) },
	})
	for i := range int64(maxOpenWindows) {
		windowAt(w, 2*i*hour)
	}
	if windowAt(w, 61*hour) != nil || w.Late() != 1 {
		t.Errorf("a window opens that was skipped to make room for it; %d late", w.Late())
	}
	if windowAt(w, 2*hour) == nil || windowAt(w, 71*hour) == nil || w.Late() != 1 {
		t.Errorf("a window does not open, or is not open any more; %d late", w.Late())
	}
}
