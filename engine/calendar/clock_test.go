// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// believed runs a clock over times, and returns the believed ones, in the order of
// belief. Dropped and quarantined ones are missing.
func believed(t testing.TB, c *Clock, times []int64) (all []int64) {
	t.Helper()
	var held []int64
	for _, at := range times {
		verdict, dropped := c.Observe(at)
		if dropped != 0 && dropped != len(held) {
			t.Fatalf("%d of %d held are dropped", dropped, len(held))
		}
		if dropped > 0 {
			held = held[:0]
		}
		if verdict == Believed {
			all = append(all, at)
		} else {
			held = append(held, at)
		}
		if verdict == Adopted {
			if !slices.Equal(c.Adopted(), held) {
				t.Fatalf("adopted %v, held were %v", c.Adopted(), held)
			}
			all, held = append(all, held...), held[:0]
		}
		if !slices.Equal(c.Quarantine(), held) || len(held) >= Quorum {
			t.Fatalf("after %d: %v are held, want %v", at, c.Quarantine(), held)
		}
	}
	return all
}

func TestClock(t *testing.T) {
	const s = int64(time.Second)
	repeat := func(at int64, n int) []int64 { return slices.Repeat([]int64{at}, n) }
	for _, tt := range []struct {
		name        string
		times, want []int64
		latest      int64
	}{
		{"in order", []int64{0, s, 2 * s}, []int64{0, s, 2 * s}, 2 * s},
		{"late, but near", []int64{10 * s, 9 * s, 11 * s}, []int64{10 * s, 9 * s, 11 * s}, 11 * s},
		{"the edges", []int64{0, 10 * s, 5 * s}, []int64{0, 10 * s, 5 * s}, 10 * s},
		{"beyond the edges", []int64{0, 10*s + 1, -5*s - 1, 0}, []int64{0, 0}, 0},
		{"one outlier ahead", []int64{0, math.MaxInt64, s}, []int64{0, s}, s},
		{"one outlier in the past", []int64{0, math.MinInt64 + 1, s}, []int64{0, s}, s},
		{"a burst below the quorum", slices.Concat([]int64{0}, repeat(99*s, Quorum-1), []int64{s}), []int64{0, s}, s},
		{"a quorum ahead", slices.Concat([]int64{0}, repeat(99*s, Quorum)), slices.Concat([]int64{0}, repeat(99*s, Quorum)), 99 * s},
		{"a quorum back", slices.Concat([]int64{0}, repeat(-99*s, Quorum)), slices.Concat([]int64{0}, repeat(-99*s, Quorum)), -99 * s},
		{"outliers that disagree", slices.Concat([]int64{0}, repeat(-99*s, Quorum-1), repeat(99*s, Quorum-1), []int64{0}), []int64{0, 0}, 0},
		{"the first one is false", slices.Concat([]int64{math.MaxInt64}, repeat(s, Quorum)), slices.Concat([]int64{math.MaxInt64}, repeat(s, Quorum)), s},
	} {
		c := &Clock{Ahead: 10 * time.Second, Behind: 5 * time.Second}
		if got := believed(t, c, tt.times); !slices.Equal(got, tt.want) || c.Latest() != tt.latest {
			t.Errorf("%s: believed %v until %d, want %v until %d", tt.name, got, c.Latest(), tt.want, tt.latest)
		}
	}
}

// TestClockSparse has packets that are all further apart than the clock is allowed: time
// goes on with them, a quorum at a time.
func TestClockSparse(t *testing.T) {
	c := &Clock{Ahead: time.Second, Behind: time.Second}
	var times []int64
	for i := range int64(10*Quorum + 1) {
		times = append(times, i*int64(time.Minute))
	}
	if got := believed(t, c, times); !slices.Equal(got, times) || c.Count() != Quorum {
		t.Errorf("%d of %d believed", len(got), len(times))
	}
}

// TestClockWall has the wall clock vouch for times up to its own.
func TestClockWall(t *testing.T) {
	c := &Clock{Ahead: time.Minute, Behind: time.Minute}
	hour := int64(time.Hour)
	c.Observe(0)
	c.Wall(5 * hour)
	for _, tt := range []struct {
		at   int64
		want Verdict
	}{{6 * hour, Quarantined}, {5*hour + int64(time.Minute), Believed}, {-hour, Quarantined}, {3 * hour, Quarantined}} {
		if got, _ := c.Observe(tt.at); got != tt.want {
			t.Errorf("%v: %v, want %v", time.Duration(tt.at), got, tt.want)
		}
	}
}

func TestClockSetAndReset(t *testing.T) {
	c := &Clock{Ahead: time.Second, Behind: time.Second}
	c.Observe(5)
	c.Observe(math.MaxInt64)
	c.Set(-int64(time.Hour))
	if len(c.Quarantine()) != 0 || c.Count() != 0 || c.Latest() != -int64(time.Hour) {
		t.Errorf("after Set: %+v", c)
	}
	if v, _ := c.Observe(-int64(time.Hour)); v != Believed || c.Count() != 1 {
		t.Errorf("%v at the time that was set, %d believed", v, c.Count())
	}
	if c.Reset(); c.started || c.Ahead != time.Second {
		t.Errorf("after Reset: %+v", c)
	}
}

// outliers puts bursts of up to n outliers into a stream whose times are near each other.
// At least as many times that are right follow each.
func outliers(rng *rand.Rand, times []int64, reach int64, n int) (all []int64) {
	calm := 1
	for i, at := range times {
		if calm--; calm < 0 {
			calm = rng.IntN(n + 1)
			for range calm {
				odd := int64(rng.Uint64()) >> rng.IntN(20)
				for mayBeNear(odd, times[i-1], reach) {
					odd = int64(rng.Uint64())
				}
				all = append(all, odd)
			}
		}
		all = append(all, at)
	}
	return all
}

// mayBeNear reports whether an outlier might be believed.
func mayBeNear(odd, now, reach int64) bool {
	return odd == NoTime || Distance(odd, now) <= 3*uint64(reach)
}

// walk is a stream whose times are near each other.
func walk(rng *rand.Rand, n int, reach int64) []int64 {
	times, now := make([]int64, n), int64(1.7e18)
	for i := range times {
		now += rng.Int64N(reach / 8)
		times[i] = now - rng.Int64N(reach/2)
	}
	return times
}

// TestClockIgnoresOutliers believes the same times whatever outliers lie between them, as
// long as these are fewer than a quorum in a row, and outnumbered after each burst.
func TestClockIgnoresOutliers(t *testing.T) {
	const reach = int64(time.Minute)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		times := walk(rng, 200, reach)
		c := &Clock{Ahead: time.Duration(reach), Behind: time.Duration(reach)}
		if got := believed(t, c, outliers(rng, times, reach, Quorum-1)); !slices.Equal(got, times) {
			t.Fatalf("seed %d: %d times believed of %d", seed, len(got), len(times))
		}
	}
}

// TestClockFollowsJumps adopts a clock that was set after a quorum of its times, and
// loses none of them.
func TestClockFollowsJumps(t *testing.T) {
	const reach = int64(time.Minute)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		times := walk(rng, 100, reach)
		jump := (2*reach + rng.Int64N(1e18)) * (1 - 2*rng.Int64N(2))
		for _, at := range walk(rng, 100, reach) {
			times = append(times, at+jump)
		}
		if Distance(times[99], times[100]) <= 2*uint64(reach) {
			continue
		}
		c := &Clock{Ahead: time.Duration(reach), Behind: time.Duration(reach)}
		if got := believed(t, c, times); !slices.Equal(got, times) {
			t.Fatalf("seed %d, jump %v: %d times believed of %d", seed, time.Duration(jump), len(got), len(times))
		}
	}
}

// TestClockResume continues from a clock's saved state as that clock does.
func TestClockResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := &Clock{Ahead: time.Minute, Behind: time.Minute}
	now := int64(0)
	for range 10_000 {
		now += int64(time.Second)
		at := now + int64(rng.IntN(3)/2)*int64(time.Hour)
		c.Observe(at)
		other := &Clock{Ahead: c.Ahead, Behind: c.Behind}
		if !other.Resume(c.Latest(), c.Quarantine(), c.Votes()) {
			t.Fatalf("%+v cannot go on", c)
		}
		next := now + int64(rng.IntN(2))*int64(time.Hour)
		one, two := *c, *other
		v, n := one.Observe(next)
		if w, m := two.Observe(next); v != w || n != m || one.Latest() != two.Latest() || one.Votes() != two.Votes() {
			t.Fatalf("%v and %d dropped, not %v and %d", w, m, v, n)
		}
	}
	for _, bad := range []struct{ held, votes int }{{0, 1}, {1, 0}, {1, 2}, {Quorum, 1}} {
		if c.Resume(0, make([]int64, bad.held), bad.votes) {
			t.Errorf("%d held with %d votes were taken", bad.held, bad.votes)
		}
	}
}

// FuzzClock feeds any times. Each is believed, dropped or held once, and the clock goes
// back only when it is set.
func FuzzClock(f *testing.F) {
	f.Add(uint64(1), uint16(300), uint8(0), int64(time.Hour))
	f.Add(uint64(2), uint16(3000), uint8(40), int64(math.MaxInt64))
	f.Add(uint64(3), uint16(500), uint8(63), int64(0))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, tameness uint8, reach int64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c := &Clock{Ahead: time.Duration(max(reach, 0)), Behind: time.Duration(max(reach/2, 0))}
		in, out := 0, 0
		for range n {
			at := int64(rng.Uint64()) >> (rng.IntN(int(tameness)+1) % 64)
			if at == NoTime {
				continue
			}
			in++
			if rng.IntN(50) == 0 {
				c.Wall(int64(rng.Uint64()))
			}
			before, started := c.Latest(), c.started
			verdict, dropped := c.Observe(at)
			out += dropped
			switch verdict {
			case Believed:
				out++
				if started && c.Latest() != max(before, at) {
					t.Fatalf("%d leads from %d to %d", at, before, c.Latest())
				}
			case Adopted:
				out += len(c.Adopted())
				if c.Latest() != at {
					t.Fatalf("%d was adopted, the clock says %d", at, c.Latest())
				}
			case Quarantined:
				if c.Latest() != before {
					t.Fatalf("%d in quarantine leads from %d to %d", at, before, c.Latest())
				}
			}
		}
		if in != out+len(c.Quarantine()) {
			t.Errorf("%d times, %d believed or dropped, %d held", in, out, len(c.Quarantine()))
		}
	})
}

func BenchmarkClock(b *testing.B) {
	c := &Clock{Ahead: time.Minute, Behind: time.Minute}
	at := int64(0)
	for b.Loop() {
		at += 1000
		c.Observe(at)
	}
}
