// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestLongest compares with known lengths, and with the windows of many times.
func TestLongest(t *testing.T) {
	for _, c := range []struct {
		zone  string
		every time.Duration
		want  time.Duration // 0 where it is not known from elsewhere
	}{
		{"UTC", time.Hour, time.Hour}, {"UTC", week, week}, {"UTC", 0, math.MaxInt64}, {"UTC", math.MaxInt64, math.MaxInt64},
		{"Asia/Kolkata", day, 0}, {"Europe/Berlin", time.Hour, time.Hour}, {"Europe/Berlin", day, 25 * time.Hour}, {"Europe/Berlin", 2 * time.Hour, 3 * time.Hour},
		{"Australia/Lord_Howe", day, 25 * time.Hour}, {"America/New_York", week, week + time.Hour}, {"America/New_York", 7 * time.Second, 0},
		{"Pacific/Apia", day, 0}, {"Antarctica/Troll", day, 0},
	} {
		windows := Calendar{Every: c.every, Location: zone(t, c.zone)}
		got := windows.Longest()
		if got < c.every || c.want != 0 && got != c.want {
			t.Errorf("%s, %v: %v, want %v", c.zone, c.every, got, c.want)
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for range 3000 {
			at := int64(rng.Uint64())
			if rng.IntN(2) == 0 { // where clocks change often
				at = rng.Int64N(int64(150*366*day)) - int64(70*366*day)
			}
			if start, end := windows.Window(at); uint64(end)-uint64(start) > uint64(got) && c.every > 0 {
				t.Fatalf("%s, %v: the window of %d is %v long, more than %v", c.zone, c.every, at, time.Duration(end-start), got)
			}
		}
	}
}
