// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
)

// freshRate feeds a filter only new elements, and counts those reported after three
// windows.
func freshRate(f windowed, window int64, measured int) (seen int) {
	for i := range 3*window + int64(measured) {
		if f.TestAndSet(stream.Digest(uint64(i)), i) && i >= 3*window {
			seen++
		}
	}
	return seen
}

// All reports share the state of one filter, hence the slack.
func TestAgePartitionedRate(t *testing.T) {
	for _, c := range []struct{ bits, k, l, generation int }{{10_000, 4, 6, 200}, {16_000, 7, 3, 200}, {9_000, 1, 1, 1000}} {
		window := int64(c.l * c.generation)
		want := forms.AgePartitioned{K: c.k, L: c.l, SliceBits: c.bits / (c.k + c.l), Generation: c.generation}.FPR()
		const measured = 120_000
		plausible(t, fmt.Sprintf("%+v", c), freshRate(newAgePartitioned(1, c.bits, c.k, c.l, window), window, measured), measured, want, .03)
	}
}

// The formula that picks the best shape for lines is within a third of the measured
// rates, and its choice is near the best of many.
func TestBestAgePartitioned(t *testing.T) {
	const lines, window, measured = 400, 8000, 60_000
	rate := func(k, l int) float64 {
		return float64(freshRate(newAgePartitioned(lines, lineBits, k, l, window), window, measured)) / measured
	}
	k, l := bestAgePartitioned(lineBits, float64(window)/lines)
	chosen, want := rate(k, l), agePartitionedFPR(k, l, lineBits, float64(window)/lines)
	if chosen < want*2/3 || chosen > want*4/3 {
		t.Errorf("K %d, L %d: rate %.5f, predicted %.5f", k, l, chosen, want)
	}
	for _, other := range [][2]int{{4, 4}, {6, 4}, {7, 8}, {9, 12}, {12, 30}} {
		if got := rate(other[0], other[1]); got < chosen*.8 {
			t.Errorf("K %d, L %d: %.5f is below %.5f of K %d, L %d", other[0], other[1], got, chosen, k, l)
		}
	}
}

func TestJumpingRate(t *testing.T) {
	const jumps, k, size, window, measured = 3, 4, 8000, 900, 120_000
	f := newJumping(1, size, jumps, k, window)
	clear, part := 1.0, 300
	for range jumps {
		clear *= 1 - forms.BloomFPR(size/(jumps+1), k, part)
	}
	// The running filter fills from empty, as since a landmark.
	clear *= 1 - forms.LandmarkRate(size/(jumps+1), k, part)
	plausible(t, "jumping", freshRate(f, window, measured), measured, 1-clear, .03)
}

// The window of SWAMP is exact, and its rate is the number of fingerprints in it over all.
func TestSwamp(t *testing.T) {
	const window, measured = 1000, 200_000
	for _, bits := range []int{5, 8, 12} {
		f := newSwamp(window*(10+bits)+int(1.2*float64(bits+3)*window), window)
		if f.records != window || f.errors != bits {
			t.Fatalf("%d records at 2^-%d, want %d at 2^-%d", f.records, f.errors, window, bits)
		}
		want := 1 - math.Pow(1-math.Exp2(-float64(f.width())), window)
		plausible(t, fmt.Sprintf("2^-%d", bits), freshRate(f, window, measured), measured, want, .03)
	}
	f := newSwamp(100*window, window)
	for i := range uint64(5 * window) {
		f.TestAndSet(stream.Digest(i), 0)
		for _, back := range []uint64{1, window / 2, window - 1, window, window + 1} {
			if i < back {
				continue
			}
			value := stream.Digest(i - back)[0] >> (64 - f.width())
			if held := f.counts[value] > 0; held != (back < window) {
				t.Fatalf("record %d, %d before it: held %v", i, back, held)
			}
		}
	}
	if small := newSwamp(window*5, window); small.records >= window || small.Bits() > window*5 {
		t.Errorf("%d records in %d bits", small.records, small.Bits())
	}
}

// Rows that are too short miss by the Poisson tail, and report by their content.
func TestTimedRowsRates(t *testing.T) {
	const nRows, cells, lambda, measured = 200, 6, 5, 200_000
	const window = nRows * lambda
	f := newTimedRows(rowShape{cells, 10, 512}, nRows, 1000, window)
	// Half of all elements come again at once after half a window. The window holds
	// its whole number of new elements then, as repeats take turns with them.
	fresh, freshSeen, missed := 0, 0, 0
	for i := range int64(measured) {
		id := i
		if i%2 == 1 && i > window/2 {
			id = i - window/2 + 1 - (window/2)%2
		}
		seen := f.TestAndSet(stream.Digest(uint64(id)), i)
		switch {
		case i < 3*window:
		case id == i:
			fresh++
			if seen {
				freshSeen++
			}
		case !seen:
			missed++
		}
	}
	// From time t-W/2 on, W/4 new elements came and W/4 others were renewed.
	wantMiss := theory.PoissonTail(cells, lambda*.5)
	wantSeen := forms.TimedRowFPR(cells, 10, .75*lambda)
	plausible(t, "miss", missed, fresh, wantMiss, .05)
	plausible(t, "FPR", freshSeen, fresh, wantSeen, .05)
}

// TestWindowedQuotient compares each rule with lists of the elements of a row, while no
// fingerprint is that of another element.
func TestWindowedQuotient(t *testing.T) {
	const cells, window = 4, 40
	for _, r := range []rule{leastRecent, randomCell, oldestCell} {
		f := newTimedRows(rowShape{cells, 60, lineBits}, 1, window, window)
		f.rule = r
		type entry struct {
			id   uint64
			time int64
		}
		var row []entry // of what may be found, the first to leave first
		random := rand.New(rand.NewPCG(3, 3))
		found := 0
		for now := range int64(20_000) {
			id := random.Uint64N(9)
			now *= 1 + int64(r)
			row = slices.DeleteFunc(row, func(e entry) bool { return e.time+window < now })
			at := slices.IndexFunc(row, func(e entry) bool { return e.id == id })
			if f.TestAndSet(stream.Digest(id), now) != (at >= 0) {
				t.Fatalf("rule %d, time %d: element %d is at %d of %v", r, now, id, at, row)
			}
			switch {
			case at >= 0 && r != oldestCell:
				row = slices.Delete(row, at, at+1)
			case len(row) < cells:
			case r == randomCell:
				row = slices.DeleteFunc(row, func(e entry) bool { // the one that the filter has chosen
					return !slices.ContainsFunc(f.held, func(c timedCell) bool { return c.fingerprint == fingerprintOf(stream.Digest(e.id), 60) })
				})
				if len(row) != cells-1 {
					t.Fatalf("time %d: %d are left of %d", now, len(row), cells)
				}
			default:
				row = row[1:]
			}
			if at >= 0 {
				found++
			}
			row = append(row, entry{id, now})
		}
		if found < 5000 {
			t.Errorf("rule %d: only %d copies", r, found)
		}
	}
}

// plausible requires events out of trials to be within six standard deviations of a
// binomial variable (chance below 2e-9 for independent trials), plus a relative slack for
// effects that the formula neglects or trials share.
func plausible(t *testing.T, name string, events, trials int, want, slack float64) {
	t.Helper()
	got := float64(events) / float64(trials)
	bound := 6*math.Sqrt(want*(1-want)/float64(trials)) + 6/float64(trials) + slack*want
	if math.Abs(got-want) > bound {
		t.Errorf("%s: measured %.6f, closed form %.6f, allowed difference %.6f", name, got, want, bound)
	}
}

// Fingerprints of every width keep their rows apart from empty ones.
func TestFingerprints(t *testing.T) {
	for width := 1; width <= 64; width++ {
		for _, x := range []uint64{0, 1, 1 << 63, ^uint64(0)} {
			v := fingerprintOf([2]uint64{x, 0}, width)
			if v == 0 || v > ^uint64(0)>>(64-width) {
				t.Errorf("fingerprint of %d bits is %d", width, v)
			}
		}
	}
}

// TestWindows checks filters that promise a window. They report all elements of the
// window and, with plenty of memory, none from more than one unit of time before it,
// whether times run evenly, in steps, or after pauses. If the window is not a whole
// number of units, the units that cover it count. An age-partitioned filter loses an
// element's bits one generation after the other, and may find the last one with bits of
// others.
func TestWindows(t *testing.T) {
	const size = 1000
	rowsOf := func(ticks int) func() windowed {
		return func() windowed { return newTimedRows(rowShape{256, 48, 1 << 15}, 37, ticks, size) }
	}
	for name, c := range map[string]struct {
		open func() windowed
		unit int64 // elements may be reported this long after the window
	}{
		"age-partitioned, anywhere": {func() windowed { return newAgePartitioned(1, 1<<19, 9, 5, size) }, 9 * 200},
		"age-partitioned, lines":    {func() windowed { return newAgePartitioned(512, 1<<11, 12, 3, size) }, 12 * 334},
		"jumping, anywhere":         {func() windowed { return newJumping(1, 1<<19, 7, 10, size) }, 143},
		"jumping, lines":            {func() windowed { return newJumping(512, 1<<13, 1, 12, size) }, size},
		"engine: timers": {func() windowed {
			return newWindowFilter(window.NewTimers(window.TimersConfig{Window: window.Window{Duration: size}, Memory: 1 << 18, Refresh: true}))
		}, 9},
		"timed rows, ticks 1":    {rowsOf(1), size},
		"timed rows, ticks 5":    {rowsOf(5), 200},
		"timed rows, ticks 7":    {rowsOf(7), 143},
		"timed rows, ticks 253":  {rowsOf(253), 4},
		"timed rows, ticks 1000": {rowsOf(1000), 1},
	} {
		for pace := range 4 {
			requireWindow(t, fmt.Sprintf("%s, pace %d", name, pace), c.open(), pace, size, c.unit)
		}
	}
}

// requireWindow compares with the exact times.
func requireWindow(t *testing.T, name string, f windowed, pace int, window, unit int64) {
	t.Helper()
	r, last, now := rand.New(rand.NewPCG(8, uint64(pace))), map[uint64]int64{}, int64(0)
	for range 3000 {
		switch now += r.Int64N(20); {
		case pace > 0 && r.IntN(200) == 0:
			now += window * r.Int64N(4)
		case pace > 1 && r.IntN(300) == 0:
			now += window * r.Int64N(300)
		case pace > 2 && r.IntN(400) == 0:
			now += 1<<40 + 1<<20 // not a multiple of 2^32 ticks, which look like none
		}
		id := r.Uint64N(300)
		seen := f.TestAndSet(stream.Digest(id), now)
		before, known := last[id]
		switch {
		case known && now-before <= window:
			if !seen {
				t.Fatalf("%s: missed after %d", name, now-before)
			}
		case seen && !known:
			t.Fatalf("%s: a new element is reported", name)
		case seen && now-before > window+unit:
			t.Fatalf("%s: reported after %d, window %d and unit %d", name, now-before, window, unit)
		}
		last[id] = now
	}
}
