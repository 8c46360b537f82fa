// SPDX-License-Identifier: Apache-2.0

package multikey

import "math"

// countTotal counts the elements of a batch for the whole stream. It leaves them to be
// counted in windows.
func (c *Counter) countTotal(b *Batch) error {
	for _, t := range b.times {
		c.total.addTime(t)
	}
	for _, key := range c.direct {
		if err := b.countKey(c.total, key, math.MaxUint32); err != nil {
			return err
		}
		b.keys[key].rewind()
	}
	return nil
}

// addTime enters the time of a packet, which may have none.
func (w *window) addTime(t int64) {
	if t == noTime {
		return
	}
	if w.first == noTime || t < w.first {
		w.first = t
	}
	w.last = max(w.last, t)
}

// closeTotal emits the counts of the whole stream, if there was one, and returns their
// memory.
func (c *Counter) closeTotal() error {
	c.limitSets(c.total)
	if c.packets > 0 && c.err == nil {
		c.err = c.emitTotal(c.total.first, c.total.last, c.counts(c.total))
	}
	return c.total.close()
}

// rewind has all elements counted once more.
func (e *Elements) rewind() { e.Addr4.at, e.V4.at, e.V6.at, e.MAC.at = 0, 0, 0, 0 }
