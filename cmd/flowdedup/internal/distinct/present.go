package distinct

import (
	"math"

	"github.com/flowdedup/flowdedup/engine"
)

// Expire closes the windows that end at or before t, in nanoseconds since 1970 UTC: see
// calendar.Stream.Expire.
func (c *Counting) Expire(t int64) error {
	c.windows.Expire(t)
	if c.err != nil {
		return &OutputError{c.err}
	}
	return nil
}

// Count is what is known of one key and family.
type Count struct {
	Of, Family string
	engine.Counts
}

// Present returns the bounds of the latest window that is open, and its counts by key
// and family, in the order of Config.Keys. Without one, as before the first packet, the
// bounds are 0 and so are the counts. It is not for the moment when a batch is counted.
func (c *Counting) Present() (start, end int64, counts []Count) {
	latest := newWindow(0, 0, c.cfg)
	c.windows.Each(func(from, to, _ int64, w *window) {
		if from != math.MinInt64 {
			start, end, latest = from, to, w
		}
	})
	for i := range latest.keys {
		of := c.cfg.Keys[i].Of.String()
		for _, f := range c.families(latest, i) {
			counts = append(counts, Count{Of: of, Family: f.name, Counts: f.counts})
		}
	}
	return start, end, counts
}
