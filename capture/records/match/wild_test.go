package match

import (
	"math"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestWildClock has an exporter whose messages are of any time: what it says of its clock is
// never more than 64 bits hold together with the time of a record.
func TestWildClock(t *testing.T) {
	var c clock
	for _, received := range []int64{1, math.MaxInt64, math.MinInt64, 1_700_000_000_000_000_000} {
		for _, exported := range []int64{1, math.MaxInt64, 4_000_000_000_000_000_000, 1_600_000_000_000_000_000} {
			r := records.Record{Received: received, Exported: exported, Precision: time.Millisecond}
			c.see(&r)
			if o := c.offset(&r); o > mostBehind || o < -mostBehind-int64(time.Second) {
				t.Errorf("offset %d after received %d, exported %d", o, received, exported)
			}
		}
	}
	if c.n == 0 {
		t.Error("no message counts")
	}
}
