// SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestGroups visits each packet once, in order, and ends early if the caller does.
func TestGroups(t *testing.T) {
	for _, n := range []int{0, 1, capture.GroupSize - 1, capture.GroupSize, capture.GroupSize + 1, 5*capture.GroupSize + 63} {
		b := &capture.Batch{Frames: make([]capture.Frame, n)}
		next, groups := 0, 0
		for from, to := range b.Groups() {
			if from != next || to <= from || to-from > capture.GroupSize || from%64 != 0 {
				t.Fatalf("%d packets: a group from %d to %d after packet %d", n, from, to, next)
			}
			next = to
			groups++
		}
		if next != n || groups != (n+capture.GroupSize-1)/capture.GroupSize {
			t.Errorf("%d packets: %d were visited in %d groups", n, next, groups)
		}
		for from := range b.Groups() {
			if from > 0 {
				t.Errorf("%d packets: a group after the end", n)
			}
			break
		}
	}
}

// TestResize keeps memory that is enough.
func TestResize(t *testing.T) {
	s := capture.Resize([]int(nil), 100)
	if len(s) != 100 || cap(s) < 100 {
		t.Fatalf("%d elements of %d", len(s), cap(s))
	}
	s[0] = 7
	if less := capture.Resize(s, 50); len(less) != 50 || less[0] != 7 {
		t.Errorf("%d elements, the first is %d", len(less), less[0])
	}
	if more := capture.Resize(s, 1000); len(more) != 1000 {
		t.Errorf("%d elements", len(more))
	}
	if n := testing.AllocsPerRun(100, func() { s = capture.Resize(s[:0], 100) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
