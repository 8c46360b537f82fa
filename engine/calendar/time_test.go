// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"testing"
)

func TestUsable(t *testing.T) {
	for at, want := range map[int64]int64{
		0: 0, NoTime: NoTime, math.MaxInt64: NoTime, NoTime + 1: NoTime + 1, math.MaxInt64 - 1: math.MaxInt64 - 1,
	} {
		if got := Usable(at); got != want || HasTime(at) != (want != NoTime) {
			t.Errorf("%d: usable as %d, has a time: %v", at, got, HasTime(at))
		}
	}
}

func TestIntervals(t *testing.T) {
	for _, tt := range []struct{ at, length, index, phase int64 }{
		{0, 10, 0, 0}, {9, 10, 0, 9}, {10, 10, 1, 0}, {-1, 10, -1, 9}, {-10, 10, -1, 0}, {-11, 10, -2, 9},
		{math.MinInt64, 1 << 62, -2, 0}, {math.MaxInt64, 1 << 62, 1, 1<<62 - 1},
	} {
		if i, p := Index(tt.at, tt.length), Phase(tt.at, tt.length); i != tt.index || p != tt.phase {
			t.Errorf("%d in intervals of %d: %d, %d; want %d, %d", tt.at, tt.length, i, p, tt.index, tt.phase)
		}
	}
	if d := Distance(math.MinInt64, math.MaxInt64); d != math.MaxUint64 {
		t.Errorf("all of time is %d", d)
	}
}
