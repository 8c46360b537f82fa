// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Timers in lines miss nothing within the window. At equal memory they have the false
// positives of the paper's unblocked filter, apart from the Poisson distribution of
// elements over lines. This matters little while a timer has less than a third of an
// element.
func TestTimerLinesAgainstReference(t *testing.T) {
	for _, c := range []struct {
		p       line.TimerParams
		perTick int // elements
		most    float64
	}{
		{line.TimerParams{Bits: 8, K: 2, Window: 200}, 25, 0.08},
		{line.TimerParams{Bits: 8, K: 3, Window: 200}, 25, 0.16},
		{line.TimerParams{Bits: 16, K: 2, Window: 5000}, 1, 0.08},
	} {
		t.Run(fmt.Sprintf("%+v", c.p), func(t *testing.T) {
			run := timersAndReference(t, c.p, c.perTick)
			checkCellRate(t, "FPR", run.ours.fpr(), run.reference.fpr(), -0.03, c.most, run.ours.fresh)
			if run.ours.duplicates < 40_000 || run.ours.falseNegatives > 0 {
				t.Errorf("%d of %d duplicates within the window missed", run.ours.falseNegatives, run.ours.duplicates)
			}
		})
	}
}

// With Equal of K timers equal, a false positive needs an element of the same line that
// still has a group of that size and shares it. So the heuristic gains less than in a
// filter without lines, where this hardly ever happens, and misses as many. The estimate
// counts elements of an old group as often as elements of a new one, and overlapping
// choices twice.
func TestTimerLinesEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, c := range []struct {
		p       line.TimerParams
		perTick int
	}{
		{line.TimerParams{Bits: 8, K: 3, Window: 200, Equal: 2}, 25},
		{line.TimerParams{Bits: 16, K: 3, Window: 5000, Equal: 3}, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c.p), func(t *testing.T) {
			run := timersAndReference(t, c.p, c.perTick)
			size, groups := float64(512/c.p.Bits)/3, run.elements*(1-run.ours.fnr())
			choices := map[int]float64{2: 3, 3: 1}[c.p.Equal]
			estimate := groups * choices / math.Pow(size, float64(c.p.Equal)) * math.Pow(run.live, float64(3-c.p.Equal))
			checkCellRate(t, "FPR", run.ours.fpr(), estimate, -0.35, 0.1, run.ours.fresh)
			checkCellRate(t, "FNR", run.ours.fnr(), run.reference.fnr(), -0.16, 0.02, run.ours.duplicates)
		})
	}
}

// timerRun is the result of timersAndReference.
type timerRun struct {
	ours, reference errorRates
	elements        float64 // set within a window in a line, at the mean
	live            float64 // share of timers, at the end
}

// timersAndReference runs one stream through both filters: half are elements never seen
// before and half elements of the last two windows. Known are elements that were reported
// as new less than a window ago.
func timersAndReference(t *testing.T, p line.TimerParams, perTick int) (run timerRun) {
	t.Helper()
	const lines, n = 256, 200_000
	rule, err := line.NewTimerRule(p)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := paper.NewTimerBloom(paper.TimerConfig{Timers: lines * 512 / p.Bits, K: p.K, Window: p.Window, Equal: p.Equal})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(74, 75))
	memory, seen, counts := make([][8]uint64, lines), make([]uint64, 1), line.TimerCounts{}
	lastOurs, lastReference := map[uint64]uint64{}, map[uint64]uint64{}
	ids := make([]uint64, n)
	for i := range ids {
		tick := uint64(i / perTick)
		if i%(perTick*p.SweepInterval()) == 0 {
			line.SweepTimers(memory, tick, rule, &counts)
		}
		ids[i] = uint64(i)
		if i > 0 && rng.IntN(2) == 0 {
			ids[i] = ids[i-1-rng.IntN(min(i, 2*perTick*p.Window))]
		}
		d := elementDigest(ids[i])
		line.TestAndSetTimers(memory, seen, []digest.Digest{d}, []uint64{tick}, rule, &counts)
		noteTimed(&run.ours, lastOurs, ids[i], tick, uint64(p.Window), seen[0] == 1)
		noteTimed(&run.reference, lastReference, ids[i], tick, uint64(p.Window), filter.TestAndSetAt(d, tick))
	}
	line.SweepTimers(memory, n/uint64(perTick), rule, &counts)
	run.live = float64(counts.NonZero) / float64(lines*512/p.Bits)
	run.elements = float64(counts.Missed) / n * float64(perTick*p.Window) / lines
	return run
}

// noteTimed notes a verdict on an element. last holds when an element was last reported
// as new. Elements from before the window are in neither rate.
func noteTimed(rates *errorRates, last map[uint64]uint64, id, tick, window uint64, seen bool) {
	before, known := last[id]
	if !known || tick-before < window {
		rates.note(known, seen)
	}
	if !seen {
		last[id] = tick
	}
}
