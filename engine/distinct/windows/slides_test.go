// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestSlides counts a window of four seconds at each second: also where packets are late, where a packet
// comes a window later, where a clock is set forward or back, and where outliers are outvoted.
func TestSlides(t *testing.T) {
	quorum := func(second int64) []int64 { return slices.Repeat([]int64{second}, calendar.Quorum) }
	for name, c := range map[string]struct {
		seconds []int64 // of packets
		want    string  // end of a window, its packets and distinct seconds
		late    uint64
	}{
		"late":       {[]int64{0, 1, 0, 3, 0}, "1:1/1 2:3/2 3:3/2 4:5/3 ", 2},
		"a window":   {[]int64{0, 4, 5}, "1:1/1 2:1/1 3:1/1 4:1/1 5:1/1 6:2/2 ", 0},
		"forward":    {slices.Concat([]int64{0, 1}, quorum(100), []int64{101}), "1:1/1 2:2/2 3:2/2 4:2/2 5:1/1 101:16/1 102:17/2 ", 0},
		"back":       {slices.Concat([]int64{100, 101}, quorum(3), []int64{4}), "101:1/1 102:2/2 103:2/2 104:2/2 105:1/1 4:16/1 5:17/2 ", 0},
		"outvoted":   {[]int64{0, 100, 100, 1, 1, 2}, "1:1/1 2:3/2 3:4/3 ", 2},
		"at the end": {[]int64{0, 100}, "1:1/1 2:1/1 3:1/1 4:1/1 101:1/1 ", 0},
	} {
		got := ""
		counter := New(&Config{
			Keys: hostAndFlow[1:], Window: 4 * time.Second, Slide: time.Second, Method: methodExact,
			Emit: func(start, end int64, counts []Count) error {
				if end-start != 4e9 {
					t.Errorf("%s: a window from %d to %d", name, start, end)
				}
				got += fmt.Sprintf("%d:%d/%d ", end/1e9, counts[0].Packets, counts[0].Distinct)
				return nil
			},
		})
		b := counter.NewBatch()
		var packets []packet
		for _, s := range c.seconds {
			packets = append(packets, packet{s * 1e9, uint32(s)})
		}
		fill(b, packets)
		if err := counter.Count(b, nil); err != nil {
			t.Error(err)
		}
		if err := counter.Close(); err != nil || got != c.want || counter.Late() != c.late {
			t.Errorf("%s: %s, %d late, %v; want %s, %d late", name, got, counter.Late(), err, c.want, c.late)
		}
	}
}
