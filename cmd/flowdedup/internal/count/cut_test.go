// SPDX-License-Identifier: Apache-2.0

package count

import (
	"math"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
)

// TestCutOf compares runs with the window from 1000 to 2000, and with the widest one.
func TestCutOf(t *testing.T) {
	for _, c := range []struct {
		start, end, first, last int64
		want                    string
	}{
		{1000, 2000, 0, 3000, ""},
		{1000, 2000, 1000, 2000, ""},
		{1000, 2000, 1010, 1990, ""}, // a hundredth at each end
		{1000, 2000, 1011, 1990, countfile.CutStart},
		{1000, 2000, 1010, 1989, countfile.CutEnd},
		{1000, 2000, 1500, 1501, countfile.CutBoth},
		{1000, 2000, 2500, 3000, countfile.CutStart}, // the run began after the window
		{1000, 2000, math.MinInt64, math.MaxInt64, ""},
		{math.MinInt64 + 1, math.MaxInt64, math.MaxInt64, math.MaxInt64, countfile.CutStart},
		{math.MinInt64 + 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64 + 1, countfile.CutEnd},
	} {
		got := CutOf(SeenOf(c.start, c.end, c.first, c.last), time.UTC)
		if got.Cut != c.want || (got.SeenFrom != nil) != (c.want == countfile.CutStart || c.want == countfile.CutBoth) || (got.SeenTo != nil) != (c.want == countfile.CutEnd || c.want == countfile.CutBoth) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestRunOfKnownLength marks windows by when a run began and ended, not by its packets.
func TestRunOfKnownLength(t *testing.T) {
	const hour = int64(time.Hour)
	for _, c := range []struct {
		began, ended int64 // minutes
		ending       bool
		want         string
	}{
		{0, 60, true, ""}, {-5, 90, true, ""}, {10, 60, true, countfile.CutStart}, {0, 50, true, countfile.CutEnd}, {10, 50, true, countfile.CutBoth}, {0, 50, false, ""},
	} {
		cfg := &Config{}
		cfg.Calendar.Every = time.Hour
		counter := NewCounter(cfg)
		counter.Began(int64(time.Duration(c.began) * time.Minute))
		counter.Ended(int64(time.Duration(c.ended) * time.Minute))
		counter.rows.ending = c.ending
		counter.rows.seen = func() (int64, int64) { return hour / 2, hour / 2 } // of packets
		if span := counter.rows.span(0, hour); span.Cut() != c.want {
			t.Errorf("%+v: %+v", c, span)
		}
	}
}
