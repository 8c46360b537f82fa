// SPDX-License-Identifier: Apache-2.0

package match

import (
	"testing"
	"time"
)

// TestLately forgets the longest duration after two periods, and not before one.
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
