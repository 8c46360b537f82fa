// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// spareDesign is a choice of sizes for rows with spare lines.
type spareDesign struct {
	fraction int     // lines for each spare line
	slack    int64   // parts of the window, 0 for no slack
	load     float64 // live elements a line
}

// spareOutcome is the result of simulating a design.
type spareOutcome struct {
	repeats, misses int // repeats of elements within the window, and those not found
	fresh, wrong    int // other elements, and those taken for copies
	evicted, asked  float64
	bytes           float64 // of all lines, for each live element
}

const (
	simulatedWindow = 100_000 // kept elements, one a tick
	simulatedBits   = 12      // of fingerprints that differ, so that false copies are seen
)

// simulateSpare has a stream of new elements, each followed by the repeat of one of the
// last window. It counts after two windows. Only the given number of fingerprint bits
// differ.
func simulateSpare(d spareDesign, windows int, bits uint) (o spareOutcome) {
	const batch = 1024
	rng := rand.New(rand.NewPCG(51, 52))
	lines := int(simulatedWindow / d.load)
	rows := TimedRows{make([]layout.Line, lines), make([]layout.Line, lines/d.fraction)}
	p := TimedParams{FPBits: 40, TickBits: 45, Window: simulatedWindow}
	if d.slack > 0 {
		p.Slack = simulatedWindow / d.slack
	}
	digests, ticks, seen := make([]digest.Digest, batch), make([]int64, batch), make([]uint64, batch/64)
	kept := make([]digest.Digest, 2*simulatedWindow)
	var c, warm TimedCounts
	for number := 0; number < (2+windows)*simulatedWindow; {
		if number >= 2*simulatedWindow && warm.Inserted == 0 {
			warm = c
		}
		p.Now = int64(number)
		for i := 0; i < batch; i += 2 {
			fresh := digest.Digest{rng.Uint64() << (64 - bits), rng.Uint64()}
			digests[i], ticks[i] = fresh, int64(number)
			kept[number%len(kept)] = fresh
			back := rng.IntN(min(number+1, simulatedWindow))
			digests[i+1], ticks[i+1] = kept[(number-back)%len(kept)], int64(number)
			number++
		}
		TestAndSetTimed(rows, seen, digests, ticks, nil, &p, &c)
		for i := 0; i < batch && warm.Inserted > 0; i += 2 {
			o.wrong += int(seen[i/64] >> (i % 64) & 1)
			o.misses += int(^seen[i/64] >> (i%64 + 1) & 1)
		}
		if warm.Inserted > 0 {
			o.fresh, o.repeats = o.fresh+batch/2, o.repeats+batch/2
		}
	}
	o.bytes = float64(layout.LineSize*(len(rows.Lines)+len(rows.Spare))) / simulatedWindow
	o.evicted = float64(c.EvictedLive-warm.EvictedLive) / float64(o.fresh)
	o.asked = float64(c.Asked-warm.Asked) / float64(o.fresh+o.repeats)
	return o
}

// atMost returns the upper bound of the mean of a Poisson variable that was seen to be k,
// with a confidence of 99 % (Wilson and Hilferty's approximation).
func atMost(k int) float64 {
	n := float64(k + 1)
	return n * math.Pow(1-1/(9*n)+2.326/(3*math.Sqrt(n)), 3)
}

// TestTimedSpareDesigns has, for a number of designs, the memory for each live element
// and a bound of the misses that holds with a confidence of 99 %: window.Timed builds on
// them. False copies are at most the expected ones of six cells and, for elements that
// ask, of six more.
func TestTimedSpareDesigns(t *testing.T) {
	for i, c := range []struct {
		spareDesign
		bytes, misses float64
	}{
		{spareDesign{12, 8, 2}, 34.7, 1e-5},
		{spareDesign{12, 8, 2.25}, 30.9, 1e-5},
		{spareDesign{12, 8, 2.5}, 27.8, 3e-5},
		{spareDesign{12, 8, 2.75}, 25.3, 7e-5},
		{spareDesign{12, 8, 3}, 23.2, 2e-4},
		{spareDesign{12, 0, 2.5}, 27.8, 3e-5},
		{spareDesign{12, 4, 2.5}, 27.8, 3e-5},
		{spareDesign{8, 8, 2.5}, 28.9, 2e-5},
		{spareDesign{16, 8, 2.5}, 27.3, 3e-5},
	} {
		windows := 12
		if testing.Short() {
			windows = 3
			if i == 3 {
				break
			}
		}
		o := simulateSpare(c.spareDesign, windows, 64)
		rate := atMost(o.misses) / float64(o.repeats)
		t.Logf("1 spare line for %d, slack 1/%d, load %.2f: %.1f bytes, %d of %d missed (at most %.1e), %.1e evicted, %.3f asked",
			c.fraction, c.slack, c.load, o.bytes, o.misses, o.repeats, rate, o.evicted, o.asked)
		if o.bytes > c.bytes {
			t.Errorf("%+v: %.1f bytes for each live element, want %.1f", c.spareDesign, o.bytes, c.bytes)
		}
		if rate > c.misses && !testing.Short() {
			t.Errorf("%+v: %d of %d missed, which may be %.1e; want %.1e", c.spareDesign, o.misses, o.repeats, rate, c.misses)
		}
		if few := o.evicted * float64(o.fresh); float64(o.misses) > few+5 {
			t.Errorf("%+v: %d missed, %.0f evicted", c.spareDesign, o.misses, few)
		}
		narrow := simulateSpare(c.spareDesign, 1, simulatedBits)
		most := (layout.TimedCells * (1 + narrow.asked)) / (1 << simulatedBits)
		if got := atMost(narrow.wrong) / float64(narrow.fresh); got > most || narrow.wrong == 0 {
			t.Errorf("%+v: %d of %d are false copies, want at most %.1e", c.spareDesign, narrow.wrong, narrow.fresh, most)
		}
	}
}
