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
		Emit:     func(int64, int64, []Count) error { return nil },
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
			counter.dropPreallocated()
			counter.budget = budget{total: 4 * (memory - lack)} // the next window has a quarter
			if counter.preallocate(w); (counter.preallocated != nil) != made {
				t.Errorf("with %d bytes of a quarter too few: %v", lack, counter.preallocated != nil)
			}
			counter.budget = newBudget(counter.cfg)
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

// TestSum names the method of the higher rate, or of the only family.
func TestSum(t *testing.T) {
	of := func(distinct uint64, fpr float64, method string) engine.Counts {
		return engine.Counts{Distinct: distinct, FPR: fpr, Method: method}
	}
	for _, r := range []struct {
		a, b engine.Counts
		want string
	}{
		{of(1, 0, "a"), of(1, 0, "b"), "a"}, {of(0, 0, "a"), of(1, 0, "b"), "b"}, {of(1, 0.1, "a"), of(1, 0.2, "b"), "b"},
		{of(1, 0.2, "a"), of(1, 0.1, "b"), "a"}, {of(1, 0.1, "a"), of(0, 0, "b"), "a"},
	} {
		if s := Sum(r.a, r.b); s.Method != r.want || s.FPR != max(r.a.FPR, r.b.FPR) || s.Distinct != r.a.Distinct+r.b.Distinct {
			t.Errorf("%+v and %+v: %+v", r.a, r.b, s)
		}
	}
}
