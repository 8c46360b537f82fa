// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestBorder exchanges a packet for a better copy that comes a hold later, and not for a copy
// that comes a nanosecond after that.
func TestBorder(t *testing.T) {
	const hold = time.Millisecond
	for _, c := range []struct {
		delay  time.Duration
		better bool
	}{{hold - 1, true}, {hold, true}, {hold + 1, false}} {
		for _, size := range []int{1, 3} { // the copy in the next batch, and in the same
			all, drop := pair(1, 1e9, c.delay)
			r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: hold}, Stream{}), all: all, drop: drop}
			if keep := r.run(false, func() int { return size }); !slices.Equal(keep, []bool{true, !c.better, c.better}) {
				t.Errorf("a copy %v later, batches of %d: kept %v", c.delay, size, keep)
			}
		}
	}
}

// TestHomeBorder moves a home when 16 packets in a row came from elsewhere for longer than a hold, and
// for a hold does not: then a copy of the last packet, from home, is better.
func TestHomeBorder(t *testing.T) {
	const hold = time.Millisecond
	for lasts, moves := range map[time.Duration]bool{hold: false, hold + 1: true} {
		s := sighted{conversation: 7, point: 1, time: 1e9}
		var all []sighted
		var drop []bool
		add := func(point uint64, after time.Duration, isCopy bool) {
			if !isCopy {
				s.digest = digest.Digest{1, uint64(len(all) + 1)}
			}
			s.point, s.time = point, 1e9+int64(after)
			all, drop = append(all, s), append(drop, isCopy)
		}
		add(1, 0, false)
		for i := range 16 {
			add(2, time.Second+lasts*time.Duration(i)/15, false)
		}
		add(1, time.Second+lasts+time.Microsecond, true)
		keep := (&heldRun{t: t, hold: testHold(t, Config{Flow: true, For: hold}, Stream{}), all: all, drop: drop}).run(false, func() int { return 1 })
		if n := len(keep); keep[n-2] != moves || keep[n-1] == moves {
			t.Errorf("elsewhere for %v: kept %v", lasts, keep[n-2:])
		}
		// The kernel decides above; see has to agree where it decides.
		homes, err := newHomes(1<<15, hold)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := homes.cell(7, 1e9)
		c.fill(7, 1, 1e9)
		moved := false
		for i := range 16 {
			moved = homes.miss(c, 2e9+int64(lasts)*int64(i)/15)
		}
		if err := homes.Close(); moved != moves || err != nil {
			t.Errorf("elsewhere for %v: moves %v, %v", lasts, moved, err)
		}
	}
}
