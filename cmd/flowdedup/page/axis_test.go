// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too
)

// TestTimesOfZones has round local times on both sides of a change of the clocks, and a mark at
// the change.
func TestTimesOfZones(t *testing.T) {
	for _, c := range []struct {
		zone, low string
		length    time.Duration
		ticks     string // local, by |
		changes   string // what it says, and when in UTC
	}{
		{"UTC", "2026-10-25T00:00:00Z", 170 * time.Minute, "00:00|00:30|01:00|01:30|02:00|02:30", ""},
		// Hours of a day have no date.
		{"UTC", "2026-01-05T08:00:00Z", 570 * time.Minute, "08:00|10:00|12:00|14:00|16:00", ""},
		// 02:00 comes twice.
		{"Europe/Berlin", "2026-10-24T22:30:00Z", 170 * time.Minute, "00:30|01:00|01:30|02:00|02:30|02:00", "CEST → CET 01:00"},
		{"Europe/Berlin", "2026-10-24T16:00:00Z", 17 * time.Hour, "Oct 24 18:00|Oct 25 00:00|Oct 25 06:00", "CEST → CET 01:00"},
		// There is no 02:00.
		{"Europe/Berlin", "2026-03-29T00:00:00Z", 170 * time.Minute, "01:00|01:30|03:00|03:30|04:00|04:30", "CET → CEST 01:00"},
		{"Europe/Berlin", "2026-10-23T22:00:00Z", 70 * time.Hour, "2026-10-24|2026-10-25|2026-10-26", "CEST → CET 01:00"},
		// There is no midnight on the 4th: its day begins at 01:00.
		{"America/Sao_Paulo", "2018-11-03T03:00:00Z", 70 * time.Hour, "2018-11-03|2018-11-04|2018-11-05", "-03 → -02 03:00"},
		// 23:00 of the 17th comes twice.
		{"America/Sao_Paulo", "2018-02-18T00:00:00Z", 170 * time.Minute, "22:00|22:30|23:00|23:30|23:00|23:30", "-02 → -03 02:00"},
		// The clocks go back from 02:00 to 01:30, and forward from 02:00 to 02:30.
		{"Australia/Lord_Howe", "2026-04-04T13:30:00Z", 3 * time.Hour, "00:30|01:00|01:30|01:30|02:00|02:30|03:00", "+11 → +1030 15:00"},
		{"Australia/Lord_Howe", "2026-10-03T14:00:00Z", 170 * time.Minute, "00:30|01:00|01:30|02:30|03:00|03:30", "+1030 → +11 15:30"},
		// Years have too many changes for marks.
		{"Europe/Berlin", "2020-12-31T23:00:00Z", 3 * 365 * 24 * time.Hour, "", ""},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		low, err := time.Parse(time.RFC3339, c.low)
		if err != nil {
			t.Fatal(err)
		}
		s := Axis{Scale: Times, Zone: zone}.span(float64(low.UnixNano()), float64(low.Add(c.length).UnixNano()), mostBelow)
		var labels, changes []string
		for _, one := range s.ticks {
			labels = append(labels, one.label)
		}
		for _, one := range s.changes {
			at := low.Add(time.Duration(one.at * float64(c.length))).Round(time.Minute)
			changes = append(changes, one.label+at.UTC().Format(" 15:04"))
		}
		if got := strings.Join(labels, "|"); c.ticks != "" && got != c.ticks {
			t.Errorf("%s from %s: ticks\n%s\nwant\n%s", c.zone, c.low, got, c.ticks)
		}
		if got := strings.Join(changes, "|"); got != c.changes {
			t.Errorf("%s from %s: changes %q, want %q", c.zone, c.low, got, c.changes)
		}
		if !slices.IsSortedFunc(s.ticks, func(a, b tick) int { return int(1e6 * (a.at - b.at)) }) || len(s.ticks) > mostBelow+2 {
			t.Errorf("%s from %s: %v", c.zone, c.low, s.ticks)
		}
	}
}

// TestChangeIsDrawn has the mark of a change in the drawing.
func TestChangeIsDrawn(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := float64(time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC).UnixNano())
	html, err := Chart{X: Axis{Scale: Times, Zone: zone}, Y: Axis{Scale: Linear}, Series: []Series{{Points: []Point{{at, 1}, {at + 3*3600e9, 2}}}}}.html(true)
	if err != nil || strings.Count(string(html), "CEST → CET") != 1 || !strings.Contains(string(html), "stroke-dasharray") {
		t.Errorf("%v\n%s", err, html)
	}
}
