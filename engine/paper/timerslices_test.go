package paper

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestTimerSlicesFalsePositives fills slices with elements that all differ and asks
// for others. Eq. 4 takes the slices' loads as even; they are Poisson here, so its
// mean over the loads is what has to come, within bounds of probability 1e-6 on each
// side and 5 % for all that the loads have in common.
func TestTimerSlicesFalsePositives(t *testing.T) {
	const slices, perSlice, k, n, queries = 50, 1009, 4, 6000, 100_000
	s := timedMust[*TimerSlices[*TimerBloom]](t)(NewTimerSlices(TimerConfig{Timers: slices*perSlice + slices - 1, K: k, Window: n}, slices))
	if s.Bits() != slices*perSlice*13 {
		t.Errorf("%d bits, want 13 for each of %d timers", s.Bits(), slices*perSlice)
	}
	loads := map[*TimerBloom]int{}
	for i := range uint64(n) {
		if !s.TestAndSetAt(digestOf(i), i) {
			loads[s.Slice(digestOf(i))]++
		}
	}
	want := 0.0
	for _, slice := range s.Slices() {
		rate, err := theory.BloomFPR(perSlice, k, loads[slice])
		if err != nil {
			t.Fatal(err)
		}
		want += rate / slices
		// 7 standard deviations of the load: 3e-12.
		if mean := float64(n) / slices; math.Abs(float64(loads[slice])-mean) > 7*math.Sqrt(mean) {
			t.Errorf("a slice took %d of %d elements", loads[slice], n)
		}
	}
	count := 0
	for i := range uint64(queries) {
		if s.Slice(digestOf(n+i)).EqualTimers(digestOf(n+i), n-1) > 0 {
			count++
		}
	}
	low, _ := binomialInterval(queries, .95*want, 1e-6)
	_, high := binomialInterval(queries, 1.05*want, 1e-6)
	if count < low || count > high {
		t.Errorf("%d false positives, want %d to %d", count, low, high)
	}
}

func TestTimerSlicesMissNothingInWindow(t *testing.T) {
	const window = 40
	c := TimerConfig{Timers: 800, K: 4, Window: window}
	d := DynamicConfig{Filter: c, FPR: .05, Rule: ByDensity, MaxFilters: 20}
	requireNothingMissed(t, "timers", timedMust[*TimerSlices[*TimerBloom]](t)(NewTimerSlices(c, 8)), window)
	requireNothingMissed(t, "dynamic", timedMust[*TimerSlices[*Dynamic]](t)(NewDynamicSlices(d, 8)), window)
}

// TestDynamicSlicesGrowAlone sends all events to one slice of four.
func TestDynamicSlicesGrowAlone(t *testing.T) {
	c := DynamicConfig{Filter: TimerConfig{Timers: 2000, K: 4, Window: 1000}, FPR: .01, MaxFilters: 50}
	s := timedMust[*TimerSlices[*Dynamic]](t)(NewDynamicSlices(c, 4))
	busy := s.Slices()[2]
	for i := range uint64(1600) {
		if s.Slice(digestOf(i)) == busy {
			s.TestAndSetAt(digestOf(i), 5)
		}
	}
	filters := 0
	for _, slice := range s.Slices() {
		filters += slice.Filters()
	}
	if busy.Filters() < 5 || filters != busy.Filters()+3 {
		t.Errorf("%d filters in the busy slice, %d in all", busy.Filters(), filters)
	}
}
