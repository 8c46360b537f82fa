// SPDX-License-Identifier: Apache-2.0

package export

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestWildNumbers has an exporter send numbers whose sums and products 64 bits do not hold.
func TestWildNumbers(t *testing.T) {
	const late = math.MaxInt64 - 1000
	for _, c := range []struct {
		x          values
		start, end int64
		wantStart  int64
		wantEnd    int64
	}{
		{values{duration: 500}, late, 0, late, late + 500},
		{values{duration: math.MaxInt64}, late, 0, late, math.MaxInt64},
		{values{duration: math.MaxInt64}, 0, 5, 5 - math.MaxInt64, 5},
	} {
		r := records.Record{Start: c.start, End: c.end}
		if c.x.finishTimes(&r); r.Start != c.wantStart || r.End != c.wantEnd {
			t.Errorf("a flow of %d ns from %d to %d: %d to %d", c.x.duration, c.start, c.end, r.Start, r.End)
		}
	}
	for _, c := range []struct {
		x    values
		want uint32
	}{
		{values{taken: 1, space: 99}, 100},
		{values{taken: 10, space: 95}, 10},
		{values{taken: math.MaxUint64, space: math.MaxUint32 - 1}, 1},
		{values{taken: math.MaxUint64 - 2, space: 7}, 1},
		{values{interval: math.MaxUint64}, math.MaxUint32},
	} {
		if got := c.x.sampling(); got != c.want {
			t.Errorf("%d of %d packets: interval %d, want %d", c.x.taken, c.x.space, got, c.want)
		}
	}
}

// TestWildDrift has packets of an exporter come at any times: by these it did not restart, nor
// did its clock agree.
func TestWildDrift(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		positive bool
	}{{math.MinInt64 + 1, math.MaxInt64, true}, {math.MaxInt64, math.MinInt64 + 1, false}, {-5e18, 5e18, true}} {
		var l life
		l.start(&arrival{received: c.from, uptime: 5, hasUptime: true})
		if d := l.drift(&arrival{received: c.to, uptime: 5, hasUptime: true}); (d > 0) != c.positive || d.Abs() < 1<<62 {
			t.Errorf("from %d to %d the clock drifts by %v", c.from, c.to, d)
		}
	}
}
