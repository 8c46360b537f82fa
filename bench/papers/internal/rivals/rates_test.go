package rivals

import (
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// freshRate feeds a filter only new elements, and counts those reported after three
// windows.
func freshRate(f Windowed, window int64, measured int) (seen int) {
	for i := range 3*window + int64(measured) {
		if f.TestAndSet(stream.Digest(uint64(i)), i) && i >= 3*window {
			seen++
		}
	}
	return seen
}

// All reports share the state of one filter, hence the slack.
func TestAgePartitionedRate(t *testing.T) {
	for _, c := range []AgePartitionedConfig{
		{Lines: 1, LineBits: 10_000, K: 4, L: 6, Window: 1200},
		{Lines: 1, LineBits: 16_000, K: 7, L: 3, Window: 600},
		{Lines: 1, LineBits: 9_000, K: 1, L: 1, Window: 1000},
	} {
		f := NewAgePartitioned(c)
		want := must[float64](t)(theory.AgePartitioned{
			K: c.K, L: c.L, SliceBits: c.LineBits / (c.K + c.L), Generation: int(c.Window) / c.L,
		}.FPR())
		const measured = 120_000
		plausible(t, fmt.Sprintf("%+v", c), freshRate(f, c.Window, measured), measured, want, .03)
	}
}

// The formula that picks the best shape for lines is within a third of the measured
// rates, and its choice is near the best of many.
func TestBestAgePartitioned(t *testing.T) {
	const lines, window, measured = 400, 8000, 60_000
	rate := func(k, l int) float64 {
		f := NewAgePartitioned(AgePartitionedConfig{Lines: lines, LineBits: lineBits, K: k, L: l, Window: window})
		return float64(freshRate(f, window, measured)) / measured
	}
	k, l, err := bestAgePartitioned(lineBits, float64(window)/lines)
	if err != nil {
		t.Fatal(err)
	}
	chosen, want := rate(k, l), must[float64](t)(agePartitionedFPR(k, l, lineBits, float64(window)/lines))
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
	f := NewJumping(JumpingConfig{Lines: 1, LineBits: size, Jumps: jumps, K: k, Window: window})
	clear, part := 1.0, 300
	for range jumps {
		clear *= 1 - must[float64](t)(theory.BloomFPR(size/(jumps+1), k, part))
	}
	// The running filter fills from empty, as since a landmark.
	clear *= 1 - must[float64](t)(theory.LandmarkRate(size/(jumps+1), k, part))
	plausible(t, "jumping", freshRate(f, window, measured), measured, 1-clear, .03)
}

// Rows that are too short miss by the Poisson tail, and report by what they hold.
func TestTimedRowsRates(t *testing.T) {
	const nRows, cells, lambda, measured = 200, 6, 5, 200_000
	const window = nRows * lambda
	f := NewTimedRows(TimedRowsConfig{
		Rows: nRows, RowBits: 512, Cells: cells, FingerprintBits: 10, StampBits: 16, Ticks: 1000, Window: window,
	})
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
	wantMiss := must[float64](t)(theory.TimedRowMiss(cells, lambda, .5))
	wantSeen := must[float64](t)(theory.TimedRowFPR(cells, 10, .75*lambda))
	plausible(t, "miss", missed, fresh, wantMiss, .05)
	plausible(t, "FPR", freshSeen, fresh, wantSeen, .05)
}

// must returns a value, or ends the test if there is an error.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// plausible requires events out of trials to be within six standard deviations of a
// binomial variable (chance below 2e-9 for independent trials), plus slack, relative,
// for what the formula neglects or trials share.
func plausible(t *testing.T, name string, events, trials int, want, slack float64) {
	t.Helper()
	got := float64(events) / float64(trials)
	bound := 6*math.Sqrt(want*(1-want)/float64(trials)) + 6/float64(trials) + slack*want
	if math.Abs(got-want) > bound {
		t.Errorf("%s: measured %.6f, closed form %.6f, allowed difference %.6f", name, got, want, bound)
	}
}

// Full rows report new elements with chance Cells/(2^FingerprintBits-1).
func TestRowsSaturation(t *testing.T) {
	const memory, measured = 1 << 14, 150_000
	for _, c := range []struct{ cells, bits, rowBits int }{{4, 4, 16}, {4, 8, 32}, {42, 12, 512}, {39, 13, 512}, {8, 16, 128}} {
		m := rows(c.cells, c.bits, c.rowBits)
		f := must[Windowed](t)(m.build(memory, nil))
		seen, warm := 0, 20*memory/c.bits
		for i := range warm + measured {
			if f.TestAndSet(stream.Digest(uint64(i)), 0) && i >= warm {
				seen++
			}
		}
		want := must[float64](t)(m.predict(memory, nil))
		plausible(t, m.name, seen, measured, want, .002)
		if f.Bits() != memory {
			t.Errorf("%s: %d bits, want %d", m.name, f.Bits(), memory)
		}
	}
}

// An element that was seen last gap other elements ago is forgotten with the closed
// form's chance, and being seen renews it.
func TestRowsMissAtGap(t *testing.T) {
	const trials, nRows, cells, half = 20_000, 10, 4, 18
	want := must[float64](t)(theory.Row{Rows: nRows, Cells: cells, FingerprintBits: 48}.LRUMiss(half))
	f := NewRows(RowsConfig{Rows: nRows, RowBits: 256, Cells: cells, FingerprintBits: 48})
	next, tried, missed := uint64(0), 0, 0
	others := func() {
		for range half {
			f.TestAndSet(stream.Digest(next))
			next++
		}
	}
	for range trials {
		d := stream.Digest(next)
		next++
		f.TestAndSet(d)
		others()
		if !f.TestAndSet(d) {
			continue
		}
		others()
		if tried++; !f.TestAndSet(d) {
			missed++
		}
	}
	plausible(t, "misses", missed, tried, want, 0)
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
