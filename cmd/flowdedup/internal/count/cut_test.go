// SPDX-License-Identifier: Apache-2.0

package count

import (
	"math"
	"testing"
	"time"
)

// TestCutOf compares runs with the window from 1000 to 2000, and with the widest window.
func TestCutOf(t *testing.T) {
	for _, c := range []struct {
		start, end, first, last int64
		want                    string
	}{
		{1000, 2000, 0, 3000, ""},
		{1000, 2000, 1000, 2000, ""},
		{1000, 2000, 1010, 1990, ""}, // a hundredth at each end
		{1000, 2000, 1011, 1990, "start"},
		{1000, 2000, 1010, 1989, "end"},
		{1000, 2000, 1500, 1501, "both"},
		{1000, 2000, 2500, 3000, "start"}, // the run began after the window
		{1000, 2000, math.MinInt64, math.MaxInt64, ""},
		{math.MinInt64 + 1, math.MaxInt64, math.MaxInt64, math.MaxInt64, "start"},
		{math.MinInt64 + 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64 + 1, "end"},
	} {
		got := CutOf(SeenOf(c.start, c.end, c.first, c.last), time.UTC)
		if got.Cut != c.want || (got.SeenFrom != nil) != (c.want == "start" || c.want == "both") || (got.SeenTo != nil) != (c.want == "end" || c.want == "both") {
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
		{0, 60, true, ""}, {-5, 90, true, ""}, {10, 60, true, "start"}, {0, 50, true, "end"}, {10, 50, true, "both"}, {0, 50, false, ""},
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
