// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
	"golang.org/x/sync/errgroup"
)

// noTime is the time of a packet without a timestamp.
const noTime = math.MinInt64

// Counter counts the distinct elements of several keys. It is not safe for concurrent
// use, but several goroutines may fill a Batch each.
type Counter struct {
	cfg       *Config
	emit      func(start, end int64, counts []Count) error
	emitTotal func(start, end int64, counts []Count) error    // nil without Config.Total
	save      func(start, end int64, all []SavedSeries) error // nil without
	saving    chan error                                      // of the window that is being saved, or nil
	windows   *calendar.Stream[window]
	total     *window  // of the whole stream, or nil
	changes   *changes // nil without Config.Changes
	slides    *slides  // in place of windows, or nil
	past      *past    // nil without Config.Past
	impliedBy impliedBy
	direct    []int // keys that no other key implies
	budget    budget
	bounded   []engine.Bounded // scratch
	ends      []int            // of the counts of each key, scratch
	all       []Count          // of a window, scratch
	opened    bool             // a window has opened, and has no packet yet
	packets   uint64
	seen      extent // of the packets that are in windows

	preallocated *preallocated  // for the window to come, or nil
	spare        []keyCounters  // empty, for the window to come, or nil
	background   errgroup.Group // makes those, and closes such
	closing      errgroup.Group // closes a large window, one at a time
	err          error          // the first failure of counting or emitting, which ends the run
}

// Count is the result of one family of a key.
type Count struct {
	Key     string // Key.Name
	Family  string // "ipv4", "ipv6", or "all" for both together and for hardware addresses
	Packets uint64 // packets with such an element
	Bytes   uint64 // lengths of these packets, in the count of all families, if Config.Top is set
	engine.Counts
	// Changes are the changes since the window before, if Config.Changes requests them.
	// They are nil for the first window, and where windows close in another order.
	Changes *Changes
	// Top has the first Config.Top elements, in the count of all families.
	Top []*top.Entry
}

// New makes a Counter. What cfg refers to must not change afterwards. It panics if Config.Check
// returns an error.
func New(cfg *Config) *Counter {
	if err := cfg.Check(); err != nil {
		panic("windows: " + err.Error())
	}
	own := cfg.withDefaults()
	cfg = &own
	c := &Counter{cfg: cfg, seen: noExtent, emit: cfg.Emit, emitTotal: cfg.Total, save: cfg.Save, impliedBy: noneImplied(len(cfg.Keys)), budget: newBudget(cfg)}
	if c.emit == nil {
		c.emit = emitNothing
	}
	c.windows = calendar.NewStream(calendar.StreamConfig[window]{
		Calendar: cfg.Calendar, Open: c.openWindow, Close: c.closeWindow,
	})
	if cfg.Slide > 0 {
		c.slides = newSlides(cfg, func(start, end int64, counts []Count) error { return c.emit(start, end, counts) })
	}
	if cfg.Total != nil {
		c.total = newWindow(noTime, noTime, cfg, nil)
	}
	if cfg.Changes {
		c.changes = &changes{latest: noTime}
	}
	if cfg.Past > 0 {
		c.past = newPast(cfg, c.budget.share())
	}
	// First sightings, rankings, slides and totals need all elements, and rows that forget need each
	// repeat.
	if !cfg.FirstSeen && cfg.Top == 0 && cfg.Slide == 0 && cfg.Total == nil && cfg.Method != methodLRU {
		c.impliedBy = newImpliedBy(cfg)
	}
	c.direct = c.impliedBy.direct()
	return c
}

// Packets returns how many packets were counted.
func (c *Counter) Packets() uint64 { return c.packets }

// Seen returns the times of the earliest and the latest packet so far that is in a window, in
// nanoseconds since 1970 UTC. Both are math.MinInt64 if there was none.
func (c *Counter) Seen() (first, last int64) {
	if c.slides != nil {
		return c.slides.seen.first, c.slides.seen.last
	}
	return c.seen.first, c.seen.last
}

// IsOpen reports whether an open window of the calendar holds t. A window is no longer
// open when Config.Emit takes its counts.
func (c *Counter) IsOpen(t int64) bool { return c.windows.IsOpen(t) }

// Late returns how many packets came after their window had closed. With Config.Slide it
// returns how many came after the counts of their slide were emitted, had no time, or had
// an implausible time.
func (c *Counter) Late() uint64 {
	if c.slides != nil {
		return c.slides.late
	}
	return c.windows.Late()
}

// LateForMemory returns how many of them had a window that closed early, for want of memory.
func (c *Counter) LateForMemory() uint64 { return c.windows.LateEvicted() }

// Count counts the elements of a batch, window by window. Count.Packets leaves out
// packets whose bit in uncounted is set, but their elements count: a copy shows just as
// well that its addresses were there. A nil uncounted leaves out no packet. Batches must
// come in the order of their stream. The error is the first failure of all.
func (c *Counter) Count(b *Batch, uncounted []uint64) error {
	return c.CountTo(b, uncounted, len(b.times))
}

// CountTo counts the packets before number to, from where the call before for the batch ended.
func (c *Counter) CountTo(b *Batch, uncounted []uint64, to int) error {
	b.uncounted = uncounted
	at := b.counted
	b.counted = to
	if c.slides != nil {
		c.packets += uint64(to - at)
		if c.err == nil {
			c.err = c.countTotal(b, at, to)
		}
		if c.err == nil {
			c.err = c.slides.count(b, at, to)
		}
		return c.err
	}
	if c.past != nil && c.err == nil && at == 0 && to > 0 {
		c.err = c.countPast(b)
	}
	for at < to && c.err == nil {
		n, w := c.windows.Run(b.times[at:to])
		c.keepError(c.countTotal(b, at, at+n)) // as far as windows, so that bounds of memory change at the same packets
		at += n
		if c.opened {
			c.makeRoom()
		}
		if w == nil || c.err != nil {
			b.skip(uint32(at))
		} else {
			c.seen.add(b.times[at-n : at])
			w.addTimes(b.times[at-n : at])
			c.err = c.countWindow(b, w, uint32(at))
		}
		c.packets += uint64(n)
		c.checkMemory(w, b.times[at-1])
	}
	return c.err
}

// CountAgain counts more elements of packets that were counted, in a batch of their own: Packets does
// not count these again.
func (c *Counter) CountAgain(b *Batch, uncounted []uint64) error {
	before := c.packets
	err := c.Count(b, uncounted)
	c.packets = before
	return err
}

// countWindow counts the elements, under every key, of the packets before to that were
// neither counted nor skipped.
func (c *Counter) countWindow(b *Batch, w *window, to uint32) error {
	for _, key := range c.direct {
		if err := b.countKey(w, key, to); err != nil {
			return err
		}
	}
	for i, group := range b.derived {
		if c.past == nil {
			b.derive(i)
		}
		for _, key := range group.Keys {
			if err := b.countKey(w, key, to); err != nil {
				return err
			}
			w.keys[key].takePackets(&w.keys[group.By])
		}
	}
	return b.emitFirstSeen(w)
}

// openWindow makes a window, with the preallocated counters if there are any.
func (c *Counter) openWindow(start, end int64) *window {
	c.opened = true
	return newWindow(start, end, c.cfg, c.takePreallocated(start))
}

// closeWindow emits the counts of a window, unless something failed before.
func (c *Counter) closeWindow(_, _ int64, w *window) {
	c.limitSets(w)
	memory := 0
	if c.err == nil {
		start, end := w.bounds()
		counts := c.counts(w)
		for i := range counts {
			if counts[i].Family == "all" {
				memory += counts[i].MemoryBytes
			}
		}
		if c.changes != nil && start != noTime {
			c.skipEmpty(start)
			c.changes.add(counts, w, c.IsOpen(start-1), c.cfg)
		}
		c.err = c.emit(start, end, counts)
	}
	if c.save != nil && c.err == nil {
		c.saveWindow(w)
		return
	}
	if memory < closeBehind {
		c.recycle(w)
		return
	}
	c.keepError(c.closing.Wait())
	c.closing.Go(w.close)
}

// skipEmpty closes the windows between the latest window that closed and the window from start
// on, as the changes of the latter count them as empty.
func (c *Counter) skipEmpty(start int64) {
	if latest := c.changes.latest; latest != noTime && latest < start {
		c.Skip(latest, start)
	}
}

// Skip has packets of windows from start to end count as late, except packets of windows
// that are open. Callers that have said that the others are empty call it.
func (c *Counter) Skip(start, end int64) { c.windows.Skip(start, end) }

// counts returns the counts of a window, key by key, until it is called again.
func (c *Counter) counts(w *window) []Count {
	all := c.all[:0]
	c.ends = c.ends[:0]
	for i := range w.keys {
		all = w.keys[i].appendCounts(all, &c.cfg.Keys[i], c.past.key(i))
		c.ends = append(c.ends, len(all))
		if r, last := &w.keys[i].ranking, &all[len(all)-1]; r.Summary != nil {
			last.Top, last.Bytes = r.Top(c.cfg.Top), r.bytes
		}
	}
	first := 0
	for i, end := range c.ends {
		if implied := c.impliedFPR(i, all); implied > 0 {
			for j := first; j < end; j++ {
				all[j].FPR = max(all[j].FPR, implied)
			}
		}
		first = end
	}
	c.all = all
	return all
}

// impliedFPR returns the rate at which a window with some counts falsely takes elements for known
// elements that imply elements of a key: what only the former imply is then missing.
func (c *Counter) impliedFPR(key int, all []Count) float64 {
	by := c.impliedBy[key]
	switch {
	case by < 0 || by == key:
		return 0
	case c.past != nil:
		return c.past.fpr(by)
	}
	return all[c.ends[by]-1].FPR
}

// Expire closes the windows that end at or before t, in nanoseconds since 1970 UTC, as
// calendar.Stream.Expire does. The error is the first failure of all.
func (c *Counter) Expire(t int64) error {
	c.windows.Expire(t)
	return c.err
}

// Current returns the bounds of the latest open window, and its counts in the order of
// Config.Keys. Before the first packet bounds and counts are 0. It must not be called
// during Count.
func (c *Counter) Current() (start, end int64, counts []Count) {
	latest := newWindow(0, 0, c.cfg, nil)
	c.windows.Each(func(from, to, _ int64, w *window) {
		if from != noTime {
			start, end, latest = from, to, w
		}
	})
	return start, end, slices.Clone(c.counts(latest))
}

// Close emits the counts of all open windows, and returns their memory. The error is the
// first failure of all, which Count may already have returned.
func (c *Counter) Close() error {
	c.windows.Close()
	c.waitForSave()
	c.dropPreallocated()
	c.keepError(closeKeys(c.spare))
	c.keepError(c.background.Wait())
	c.keepError(c.closing.Wait())
	if c.past != nil {
		c.keepError(c.past.close())
	}
	if c.slides != nil {
		c.keepError(c.slides.close())
	}
	if c.total != nil {
		c.keepError(c.closeTotal())
	}
	return c.err
}

// keepError keeps the first error.
func (c *Counter) keepError(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Abandon returns the memory of all windows without emitting their counts.
func (c *Counter) Abandon() error {
	c.emit, c.emitTotal, c.save = emitNothing, emitNothing, nil
	return c.Close()
}

func emitNothing(int64, int64, []Count) error { return nil }

// countTotal counts the elements of the packets at to to-1 of a batch for the whole stream. It leaves
// them to be counted in windows.
func (c *Counter) countTotal(b *Batch, at, to int) error {
	if c.total == nil {
		return nil
	}
	c.total.add(b.times[at:to])
	for _, key := range c.direct {
		e := &b.keys[key]
		before := e.taken()
		if err := b.countKey(c.total, key, uint32(to)); err != nil {
			return err
		}
		e.Addr4.at, e.V4.at, e.V6.at, e.MAC.at = before[0], before[1], before[2], before[3] // once more
	}
	return nil
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
