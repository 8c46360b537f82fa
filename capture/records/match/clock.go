package match

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// samples is of how many messages the median is taken. A clock that was set is followed
// after half as many.
const samples = 63

// clock measures how far an exporter's clock is behind ours: the median of received -
// exported. It holds the time that messages take, which is much the same for all.
type clock struct {
	last    int64 // when the last message was exported
	ring    [samples]int64
	n       int // messages so far
	median  int64
	precise bool // some message was exported at a part of a second
}

// see takes a record of a message. Messages of a file come when they were exported.
func (c *clock) see(r *records.Record) {
	if r.Received == 0 || r.Exported == 0 || r.Exported == c.last || r.Exported == r.Received {
		return
	}
	c.last = r.Exported
	c.precise = c.precise || r.Exported%int64(time.Second) != 0
	c.ring[c.n%samples] = r.Received - r.Exported
	c.n++
	if c.n > 8 && c.n%8 != 0 {
		return
	}
	sorted := c.ring
	used := sorted[:min(c.n, samples)]
	slices.Sort(used)
	c.median = used[len(used)/2]
}

// offset returns what is to be added to the times of a record. Of exporters that tell
// whole seconds the median is half a second too large, unless the times of the record are
// as imprecise.
func (c *clock) offset(r *records.Record) int64 {
	if c.n > 0 && !c.precise && r.Precision < time.Second {
		return c.median - int64(time.Second/2)
	}
	return c.median
}
