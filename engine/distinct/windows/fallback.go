// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// fallsBack reports whether counters without memory turn into sketches.
func (c *Config) fallsBack() bool { return c.SetLimit > 0 || c.Save != nil }

// allWindows calls do for each open window, and for the window of the whole stream.
func (c *Counter) allWindows(do func(w *window)) {
	c.windows.Each(func(_, _, _ int64, w *window) { do(w) })
	if c.total != nil {
		do(c.total)
	}
}

// limitSets turns a window's counters into sketches if they have more elements than
// Config.SetLimit.
func (c *Counter) limitSets(w *window) {
	limit := c.cfg.SetLimit
	if limit == 0 {
		return
	}
	for i := range w.keys {
		k := &w.keys[i]
		c.keepError(k.addr4.limit(limit, c.cfg.newSketchedAddresses))
		for _, f := range []*familyCounter[digest.Digest]{&k.v4, &k.v6, &k.mac} {
			c.keepError(f.limit(limit, distinct.NewSketchedDigests))
		}
	}
}

// limit turns the counter into a sketch if it has more elements.
func (c *familyCounter[E]) limit(most uint64, create func() *distinct.Sketched[E]) error {
	if c.Counter == nil || c.Counts().Distinct <= most {
		return nil
	}
	return c.fallBack(create)
}

// fallBack turns the counter's contents into a sketch, unless they are a sketch or a
// sample.
func (c *familyCounter[E]) fallBack(create func() *distinct.Sketched[E]) error {
	lister, ok := c.Counter.(distinct.Lister)
	if !ok {
		return nil
	}
	contents := lister.Contents()
	if contents.Sketch != nil || contents.Level > 0 {
		return nil
	}
	s := create()
	s.Fill(contents)
	rows := c.Counter
	c.Counter = s
	return rows.Close()
}

// sketchInstead turns a window's counter that finds no more memory into a sketch. It
// reports false for counters that sample instead.
func (c *Counter) sketchInstead(full engine.Bounded) (done bool) {
	if !c.cfg.fallsBack() {
		return false
	}
	c.allWindows(func(w *window) {
		for i := range w.keys {
			k := &w.keys[i]
			if any(k.addr4.Counter) == any(full) {
				c.keepError(k.addr4.fallBack(c.cfg.newSketchedAddresses))
				done = any(k.addr4.Counter) != any(full)
			}
			for _, f := range []*familyCounter[digest.Digest]{&k.v4, &k.v6, &k.mac} {
				if any(f.Counter) == any(full) {
					c.keepError(f.fallBack(distinct.NewSketchedDigests))
					done = any(f.Counter) != any(full)
				}
			}
		}
	})
	return done
}
