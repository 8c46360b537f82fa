// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math/rand/v2"
	"testing"
	"time"

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
		}
	}
	if err := counter.Close(); err != nil {
		t.Fatal(err)
	}
}
