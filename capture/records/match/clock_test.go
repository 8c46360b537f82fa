// SPDX-License-Identifier: Apache-2.0

package match

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestClock measures offsets of clocks from messages with times in whole seconds, or in parts
// of them. Of an exporter that always sends at the same part of a second only whole seconds
// are known; clocks that may agree count as equal.
func TestClock(t *testing.T) {
	const ms = time.Millisecond
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		behind, unit time.Duration
		phase        time.Duration // of a second, -1 for any
		precision    time.Duration // of the times of records
		worst        time.Duration
	}{
		"milliseconds":                 {5 * time.Second, ms, -1, ms, 15 * ms},
		"seconds":                      {5 * time.Second, time.Second, -1, ms, 250 * ms},
		"seconds, behind":              {-5 * time.Second, time.Second, -1, ms, 250 * ms},
		"one part of a second":         {5 * time.Second, time.Second, 900 * ms, ms, 500 * ms},
		"no offset":                    {0, time.Second, -1, ms, 0},
		"no offset, early in a second": {0, time.Second, 0, ms, 0},
		"no offset, late in a second":  {0, time.Second, 999 * ms, ms, 0},
		"clocks that are set":          {30 * ms, time.Second, 999 * ms, ms, 30 * ms},
	} {
		var clock clock
		for n := range 200 {
			part := c.phase
			if part < 0 {
				part = time.Duration(rng.Int64N(int64(time.Second)))
			}
			sent := 1e18 + int64(n)*int64(time.Second) + int64(part)
			exported := sent - int64(c.behind)
			r := records.Record{Exported: exported - exported%int64(c.unit), Received: sent + 1 + rng.Int64N(int64(10*ms)), Precision: c.precision}
			if n%20 == 7 { // it waited on its way
				r.Received += int64(400 * ms)
			}
			clock.see(&r)
			if off := (time.Duration(clock.offset(&r)) - c.behind).Abs(); off > c.worst && n > 20 {
				t.Fatalf("%s: after %d messages the offset is off by %v", name, n+1, off)
			}
		}
	}
}

// TestClockDelayed has a message come seconds late: the few others say that the clock of
// their exporter, in whole seconds, may be right, or is as far behind as they were.
func TestClockDelayed(t *testing.T) {
	const ms = time.Millisecond
	for _, behind := range []time.Duration{0, 9 * time.Second} {
		var clock clock
		for n, delay := range []time.Duration{100 * ms, 4200 * ms, 200 * ms, 700 * ms} {
			exported := 1e18 + int64(n)*int64(5*time.Second)
			r := records.Record{Exported: exported, Received: exported + int64(behind+delay), Precision: ms}
			clock.see(&r)
			if off := (time.Duration(clock.offset(&r)) - behind).Abs(); off > 500*ms {
				t.Errorf("behind by %v: after %d messages the offset is off by %v", behind, n+1, off)
			}
		}
	}
}

// TestLately forgets the longest duration after two periods, and not within the first.
func TestLately(t *testing.T) {
	var l lately
	const start = int64(1_700_000_000_000_000_000)
	l.note(50*time.Minute, start)
	for minute := range int64(200) {
		l.note(time.Minute, start+minute*int64(time.Minute))
		got, forgotten := l.value(), minute > 121
		if minute <= 60 && got != 50*time.Minute || forgotten && got != time.Minute {
			t.Fatalf("after %d minutes: %v", minute, got)
		}
	}
	l.note(time.Hour, 0)
	if l.note(0, 0); l.value() != time.Hour {
		t.Error("time passed where none is known")
	}
}
