// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestPreallocatedWithinBudget makes the counters of the next window only where the budget has room
// for them while they grow.
func TestPreallocatedWithinBudget(t *testing.T) {
	counter := New(&Config{
		Keys:     []Key{{Name: "flow", PerPacket: 1}},
		Calendar: calendar.Calendar{Every: time.Second},
		Budget:   256 << 20,
	})
	rng, b, times := rand.New(rand.NewPCG(37, 38)), counter.NewBatch(), make([]int64, 500)
	const packets = 100_000 // of a window, the end of which does not come
	for sent := 0; sent < packets/2; sent += len(times) {
		for i := range times {
			times[i] = int64(sent+i) * int64(time.Second) / packets
		}
		randomBatch(b, rng, times)
		if err := counter.Count(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	for w := range counter.windows.All() {
		counter.budget.held = 0
		counter.preallocate(w)
		if counter.preallocated == nil {
			t.Fatal("none with room for all")
		}
		memory := counter.preallocated.memory
		for lack, made := range []bool{true, false} {
			counter.dropPreallocated()
			counter.budget.held = counter.budget.total - peak(memory) + lack
			if counter.preallocate(w); (counter.preallocated != nil) != made {
				t.Errorf("with %d bytes too few: %v", lack, counter.preallocated != nil)
			}
		}
	}
	if err := counter.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestExtent has the earliest and the latest time, in any order and without missing times.
func TestExtent(t *testing.T) {
	s := noExtent
	for _, c := range []struct {
		times       []int64
		first, last int64
	}{
		{nil, noTime, noTime}, {[]int64{noTime}, noTime, noTime}, {[]int64{5, noTime, 7}, 5, 7}, {[]int64{6, 9, 8}, 5, 9}, {[]int64{-3, 4}, -3, 9},
	} {
		if s.add(c.times); s.first != c.first || s.last != c.last {
			t.Errorf("after %v: %d to %d, want %d to %d", c.times, s.first, s.last, c.first, c.last)
		}
	}
}

// TestRunsOfPast has batches whose times are of one step, and steps that are part of one window.
func TestRunsOfPast(t *testing.T) {
	s := &past{cfg: &Config{Calendar: calendar.Calendar{Every: 25}}, step: 10}
	for times, want := range map[[2]int64][2]bool{
		{0, 9}: {true, true}, {0, 10}: {}, {9, 10}: {}, {12, 8}: {}, {24, 21}: {true, false}, {26, 29}: {true, false}, {30, 39}: {true, true},
		{40, 49}: {true, true}, {noTime, noTime}: {}, {5, noTime}: {}, {-1, -10}: {true, true},
	} {
		if s.begin(times[:]); s.sameStep != want[0] || s.sameWindow != want[1] {
			t.Errorf("%v: one step %v, one window %v", times, s.sameStep, s.sameWindow)
		}
	}
}

// TestSum names the method of the higher rate, or of the only family.
func TestSum(t *testing.T) {
	of := func(distinct uint64, fpr float64) engine.Counts {
		return engine.Counts{Distinct: distinct, FPR: fpr, Method: "a"}
	}
	for b, a := range map[engine.Counts]engine.Counts{
		{Distinct: 1, Method: "b"}: of(1, 0), {Distinct: 1, Method: "B"}: of(0, 0), {Distinct: 1, FPR: 0.2, Method: "B"}: of(1, 0.1), {FPR: 0.1, Method: "b"}: of(1, 0.2),
	} {
		if s := Sum(a, b); (s.Method == b.Method) != (b.Method == "B") || s.FPR != max(a.FPR, b.FPR) {
			t.Errorf("%+v and %+v: %+v", a, b, s)
		}
	}
}
