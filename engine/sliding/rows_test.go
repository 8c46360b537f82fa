// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// TestEqualsMap compares counts with the reference, at the bounds of steps and anywhere,
// over all of the window and parts of it.
func TestEqualsMap(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour} {
		for name, stream := range slidingStreams(1, 10_000, window) {
			t.Run(fmt.Sprintf("%v/%s", window, name), func(t *testing.T) {
				compareSliding(t, stream, Config{Window: window})
			})
		}
	}
}

// compareSliding feeds batches of many sizes, and asks after each.
func compareSliding(t *testing.T, stream *slidingStream, cfg Config) *Rows {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 8))
	s, want := mustSliding(t, cfg), lastSightings{}
	latest := int64(math.MinInt64)
	seen := make([]uint64, len(stream.digests)/8/64+1)
	for at := 0; at < len(stream.digests); {
		to := min(at+1+rng.IntN(1+rng.IntN(len(stream.digests)/8)), len(stream.digests))
		s.TestAndSet(seen, stream.digests[at:to], stream.times[at:to])
		want.add(stream.digests[at:to], stream.times[at:to])
		latest = max(latest, slices.Max(stream.times[at:to]))
		at = to
		now := calendar.Index(latest, s.step)*s.step + s.step - 1
		for _, steps := range []int64{s.steps, s.steps / 12, 1} {
			n := want.within(now-steps*s.step+1, now)
			exact := steps*s.step <= s.window // else the span is cut
			if c := s.countSpan(now, time.Duration(steps*s.step)); exact && (c.Distinct != n || c.Low != n || c.High != n) {
				t.Fatalf("after %d elements, %d steps: %+v, want %d", at, steps, c, n)
			}
		}
		now = latest + rng.Int64N(2*s.window)
		n := want.within(now-s.window+1, now)
		if c := s.Count(now); n < c.Low || n > c.High || c.Low > c.Distinct || c.Distinct > c.High {
			t.Fatalf("after %d elements: %+v, want %d", at, c, n)
		}
	}
	return s
}

// Windows that no step divides, steps that are given, and rows that had to grow.
func TestConfigs(t *testing.T) {
	for _, cfg := range []Config{
		{Window: time.Second + 1}, {Window: 999_999_937}, {Window: 1}, {Window: 7},
		{Window: time.Hour, Step: time.Minute}, {Window: time.Hour, Step: time.Hour}, {Window: 4096 * time.Second, Step: time.Second},
	} {
		for name, stream := range slidingStreams(3, 5000, max(cfg.Window, 5000)) {
			if name == "disordered" && cfg.Window < 5000 {
				continue // later than a window
			}
			t.Run(fmt.Sprintf("%v/%v/%s", cfg.Window, cfg.Step, name), func(t *testing.T) {
				compareSliding(t, stream, cfg)
			})
		}
	}
	s := compareSliding(t, slidingStreams(4, 200_000, time.Minute)["all new"], Config{Window: time.Minute})
	if lines := len(s.rows.Table.Arena.Lines()); lines < 4*layout.SlidingLines {
		t.Errorf("%d lines, should have grown", lines)
	}
	var refused []check.Refused[Config]
	for _, cfg := range []Config{
		{}, {Window: -1}, {Window: 400 * 24 * time.Hour}, {Window: time.Second, Step: 2 * time.Second},
		{Window: 4096*time.Second + 1, Step: time.Second}, {Window: time.Second, Step: -1},
	} {
		refused = append(refused, check.Refused[Config]{Config: cfg, Is: engine.ErrWindow})
	}
	check.Refuses(t, New, append(refused, check.Refused[Config]{Config: Config{Window: 1, Memory: -1}, Is: engine.ErrMemory}))
}

// Sweeping keeps elements that come and go from taking more than a window of them does.
func TestForgets(t *testing.T) {
	s := mustSliding(t, Config{Window: time.Second})
	digests := check.Digests(9, 1<<18)
	times := steady(len(digests), time.Second/20_000)
	s.TestAndSet(nil, digests, times)
	if lines := len(s.rows.Table.Arena.Lines()); lines*rowLoad > 2*25_000 {
		t.Errorf("%d lines for 20,000 elements", lines)
	}
	if s.taken > 25_100 {
		t.Errorf("%d cells for 20,000 elements", s.taken)
	}
	s.Advance(times[len(times)-1] + int64(time.Hour))
	if s.taken != 0 || s.Count(times[0]+int64(2*time.Hour)).Distinct != 0 {
		t.Error("something is left")
	}
	s.Reset()
	if c := s.Count(slidingBegin); c.Distinct != 0 || len(s.rows.Table.Arena.Lines()) != layout.SlidingLines {
		t.Errorf("%+v after Reset", c)
	}
}

// Counts do not depend on how the stream is cut, wrong clocks or not.
func TestBatchSizes(t *testing.T) {
	const window = time.Minute
	for name, stream := range slidingStreams(5, 30_000, window) {
		rng := rand.New(rand.NewPCG(5, 5))
		for i := range stream.times {
			switch rng.IntN(100) {
			case 0:
				stream.times[i] = rng.Int64() - rng.Int64()
			case 1:
				stream.times[i] = calendar.NoTime
			}
		}
		cfg := Config{Window: window, Memory: 1 << 17}
		var want []engine.Counts
		for _, batch := range []int{30_000, 1, 7, 512, 1000} {
			s := mustSliding(t, cfg)
			var got []engine.Counts
			for at := 0; at < len(stream.digests); at += batch {
				to := min(at+batch, len(stream.digests))
				s.TestAndSet(nil, stream.digests[at:to], stream.times[at:to])
			}
			for _, now := range stream.times[29_900:] {
				got = append(got, s.Count(now))
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: other counts in batches of %d", name, batch)
			}
		}
	}
}

// Dates stay unambiguous however long few elements come: elements that a flood left
// behind are gone, or known to be old, when their dates could be taken for others.
func TestDatesApart(t *testing.T) {
	const steps = maxSteps
	s, want := mustSliding(t, Config{Window: steps, Step: 1}), lastSightings{}
	flood := check.Digests(21, 200_000)
	s.TestAndSet(nil, flood, steady(len(flood), 0))
	for window := int64(1); window < 20; window++ {
		now := slidingBegin + window*(steps-1)
		part := flood[100*(window%7) : 100*(window%7)+100]
		for range 2 {
			times := slices.Repeat([]int64{now}, len(part))
			s.TestAndSet(nil, part, times)
			want.add(part, times)
		}
		span := int64(steps)
		if window == 1 {
			span = steps / 2 // without the flood
		}
		if c, n := s.countSpan(now, time.Duration(span)), want.within(now-span+1, now); c.Distinct != n {
			t.Fatalf("window %d: %+v, want %d", window, c, n)
		}
	}
}

// A wrong clock empties nothing, and a clock that is set is followed at once.
func TestWildClocks(t *testing.T) {
	const window, n = time.Minute, 5000
	stream := slidingStreams(6, n, window)["zipf"]
	future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	for _, wild := range []int64{future, 0, math.MaxInt64, math.MinInt64 + 1, slidingBegin - int64(time.Hour)} {
		s, want := mustSliding(t, Config{Window: window}), lastSightings{}
		s.TestAndSet(nil, []digest.Digest{{1}}, []int64{wild}) // even the first one
		for at := 0; at < n; at += 50 {
			d, times := stream.digests[at:at+50], stream.times[at:at+50]
			s.TestAndSet(nil, d, times)
			want.add(d, times)
			s.TestAndSet(nil, []digest.Digest{{uint64(at) << 20}}, []int64{wild})
			now := calendar.Index(slices.Max(times), s.step)*s.step + s.step - 1
			// The elements before 32 of the right time came are few, but they are held.
			if c, n := s.Count(now), want.within(now-s.window+1, now); c.Distinct != n {
				t.Fatalf("wild %d, after %d elements: %+v, want %d", wild, at, c, n)
			}
		}
		// From here on the clock is the other one.
		set := steady(100, time.Second/10)
		for i := range set {
			set[i] += int64(time.Hour) * int64(1-2*(wild&1))
			s.TestAndSet(nil, check.Digests(1, i+1)[i:], set[i:i+1])
			if c := s.Count(set[i]); c.High < uint64(i+1) || c.Low > uint64(i+1) {
				t.Fatalf("wild %d: %+v after %d elements of another time", wild, c, i+1)
			}
		}
	}
}

// Where memory ends, bounds hold in 95 of 100 cases: a binomial variable of 120 trials with
// that chance has less than 100 hits (83 %) with a probability of 1e-6.
func TestSample(t *testing.T) {
	const trials, window = 120, time.Second
	hits, widest := 0, 0.0
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 9))
		s := mustSliding(t, Config{Window: window, Memory: 1})
		want := lastSightings{}
		digests := check.Digests(uint64(trial), 10_000)
		for i := range digests {
			if i > 0 && i%3 == 0 {
				digests[i] = digests[rng.IntN(i)]
			}
		}
		times := steady(len(digests), window/9000)
		s.TestAndSet(nil, digests, times)
		want.add(digests, times)
		now := times[len(times)-1]
		now = calendar.Index(now, s.step)*s.step + s.step - 1
		c, n := s.Count(now), want.within(now-s.window+1, now)
		if s.level == 0 || c.MemoryBytes > 200_000 {
			t.Fatalf("level %d, %+v", s.level, c)
		}
		if c.Low <= n && n <= c.High {
			hits++
		}
		widest = max(widest, float64(c.High-c.Low)/float64(n))
	}
	if hits < 100 || widest > 0.12 {
		t.Errorf("bounds hold in %d of %d cases, and are up to %.3f wide", hits, trials, widest)
	}
}

// After a flood everything is taken again, and counts are exact a window later.
func TestRecovers(t *testing.T) {
	const window = time.Second
	s := mustSliding(t, Config{Window: window, Memory: 1})
	flood := check.Digests(1, 50_000)
	times := steady(len(flood), window/100_000)
	s.TestAndSet(nil, flood, times)
	if s.level == 0 {
		t.Fatal("no sample")
	}
	calm := check.Digests(2, 20_000)
	later := steady(len(calm), window/1000)
	for i := range later {
		later[i] += times[len(times)-1] - times[0]
	}
	s.TestAndSet(nil, calm, later)
	now := calendar.Index(later[len(later)-1], s.step)*s.step + s.step - 1
	if c := s.Count(now); s.level != 0 || c.Distinct != 1000 || c.Low != 1000 || c.High != 1000 {
		t.Errorf("level %d, %+v", s.level, c)
	}
}

// Addresses are distinguished exactly, also in samples.
func TestAddresses(t *testing.T) {
	a := NewAddresses([16]byte{3})
	addrs := make([]uint32, 100_000)
	for i := range addrs {
		addrs[i] = 10<<24 | uint32(i)
	}
	digests := make([]digest.Digest, len(addrs))
	a.Sum(digests, addrs)
	times := steady(len(addrs), 0)
	for _, memory := range []int{0, 1 << 17} {
		s := mustSliding(t, Config{Window: time.Hour, Memory: memory})
		s.TestAndSet(nil, digests, times)
		s.TestAndSet(nil, digests, times)
		c := s.Count(slidingBegin)
		if memory == 0 && c.Distinct != 100_000 || c.Low > 100_000 || c.High < 100_000 || math.Abs(float64(c.Distinct)-1e5) > 3000 {
			t.Errorf("%+v of 100,000 addresses", c)
		}
	}
}

// Elements of one line overflow, and are swept out and counted as others.
func TestSpills(t *testing.T) {
	const window = time.Second
	stream := &slidingStream{}
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 3000 {
		stream.digests = append(stream.digests, digest.Digest{uint64(i/20+rng.IntN(40)) << 6})
		stream.times = append(stream.times, slidingBegin+int64(i)*int64(window)/300)
	}
	compareSliding(t, stream, Config{Window: window})
}

func TestSeen(t *testing.T) {
	s := mustSliding(t, Config{Window: time.Second})
	seen := []uint64{^uint64(0)}
	second := int64(time.Second)
	s.TestAndSet(seen, []digest.Digest{{1 << 6}, {1 << 6}, {2 << 6}, {1 << 6}, {2 << 6}},
		[]int64{0, second / 2, second / 2, second, second * 17 / 10})
	if seen[0] != 0b01010 {
		t.Errorf("%b", seen[0])
	}
	if n := testing.AllocsPerRun(10, func() { s.TestAndSet(seen, make([]digest.Digest, 1), make([]int64, 1)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPanics(t *testing.T) {
	s := mustSliding(t, Config{Window: time.Second})
	check.Panics(t, "seen", func() { s.TestAndSet(make([]uint64, 1), make([]digest.Digest, 65), make([]int64, 65)) })
	check.Panics(t, "times", func() { s.TestAndSet(nil, make([]digest.Digest, 2), make([]int64, 1)) })
}

// sameStep counts the times of one step at the beginning of a stream, up to most.
func sameStep(s *Rows, times []int64, most int) (n int) {
	for n < min(len(times), most) && calendar.Index(times[n], s.step) == calendar.Index(times[0], s.step) {
		n++
	}
	return n
}

// TestStep compares the reports of elements seen in the same step with a map of last
// steps. Without wrong times they are equal, and otherwise never more.
func TestStep(t *testing.T) {
	for name, stream := range slidingStreams(5, 10_000, time.Minute) {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 9))
			s, last := mustSliding(t, Config{Window: time.Minute}), map[digest.Digest]int64{}
			seen, marked := make([]uint64, len(stream.digests)/64+1), 0
			for at := 0; at < len(stream.digests); {
				n := sameStep(s, stream.times[at:], 1+rng.IntN(1500))
				s.TestAndSetStep(seen, stream.digests[at:at+n], slices.Max(stream.times[at:at+n]))
				for i, d := range stream.digests[at : at+n] {
					step := calendar.Index(stream.times[at+i], int64(s.Step()))
					before, ok := last[d]
					got, want := seen[i/64]>>(i%64)&1 == 1, ok && before == step
					if got != want && (got || name != "far apart") {
						t.Fatalf("element %d: %v, want %v", at+i, got, want)
					}
					marked += int(b64(got))
					if !ok || step > before {
						last[d] = step
					}
				}
				at += n
			}
			if marked == 0 && name != "all new" && name != "far apart" {
				t.Error("none was seen in the same step")
			}
		})
	}
}
