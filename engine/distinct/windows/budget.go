// SPDX-License-Identifier: Apache-2.0

package windows

import "github.com/flowdedup/flowdedup/engine"

// budget is the memory that all counters have together. Of a quarter of it, or of more if
// that is too little, all possible counters have equal shares: of the current window, of
// the window before, which waits for late packets, of the whole stream, and of the past. So
// a new window finds memory whatever the others hold. The rest goes to the counters that
// need it first.
type budget struct {
	total    int // bytes; 0 for no bound
	families int // number of possible counters of a window
	windows  int // least number of windows that have shares, the whole stream and the past included
	held     int // of the total, by the last spread
}

// leastShare is the memory of the smallest counter: 64 KiB of digests, and their overflow.
const leastShare = 72 << 10

func newBudget(cfg *Config) budget {
	b := budget{total: cfg.Budget, windows: 2}
	if cfg.Changes {
		b.total = cfg.Budget / changesPart
	}
	if cfg.Past > 0 {
		b.windows++
	}
	if cfg.Total != nil {
		b.windows++
	}
	for i := range cfg.Keys {
		if b.families++; !cfg.Keys[i].MAC {
			b.families++ // IPv4 and IPv6
		}
		if cfg.Top > 0 {
			b.families++ // the ranking
		}
	}
	return b
}

// changesPart is the part of the budget that counters have where Changes are counted. The
// elements of two windows that closed take up to four fifths of the memory that their
// counters had, or leastShare, each.
const changesPart = 3

// LeastBudget returns the least Budget that can be kept.
func (c *Config) LeastBudget() int {
	b := newBudget(c)
	least := b.windows * b.families * peak(leastShare)
	if c.Changes {
		least *= changesPart
	}
	return least
}

// peak returns the memory that a counter of the given size takes at most: while it grew to
// this size it had half as much besides. Large counters return that part as they grow.
func peak(size int) int { return size + min(size/2, 2<<20) }

// share is the guaranteed size of each counter.
func (b *budget) share() int {
	if b.total == 0 {
		return 0
	}
	return max(b.total/6/max(1, b.windows*b.families), leastShare) // a quarter of the total, at its peak
}

// reserve returns the memory that the counters hold, and that is reserved for those of
// the given number of windows, at least b.windows.
func (b *budget) reserve(counters []engine.Bounded, windows int) (held int) {
	held = max(0, max(windows, b.windows)*b.families-len(counters)) * peak(b.share())
	for _, c := range counters {
		held += peak(max(c.Needs(0), b.share()))
	}
	return held
}

// spread divides the budget among the counters of a number of windows. Each keeps its
// present memory. reserved bytes belong to none of them. Counters for which fallback
// returns true use a sketch instead of sampling.
func (b *budget) spread(counters []engine.Bounded, windows, reserved int, fallback func(engine.Bounded) bool) {
	b.held = reserved + b.reserve(counters, windows)
	for _, c := range counters {
		limit := max(c.Needs(0), b.share())
		if next := c.Needs(budgetAhead); next > limit {
			if more := peak(next) - peak(limit); b.held+more <= b.total {
				b.held += more
				limit = next
			} else if fallback(c) {
				continue
			}
		}
		c.Limit(limit)
	}
}

// othersLimit bounds the memory of all windows except the current window. It is also the
// bound for the counters of the next window.
func (b *budget) othersLimit() int {
	if b.total == 0 {
		return othersLimit
	}
	return min(othersLimit, max(b.total/4, b.families*peak(b.share())))
}

// shareBudget sets the bounds of all counters. It is called at positions that do not
// depend on batches, when all keys have counted the same packets.
func (c *Counter) shareBudget() {
	if c.budget.total == 0 {
		return
	}
	reserved := 0
	if c.preallocated != nil {
		reserved = peak(c.preallocated.memory)
	}
	c.bounded = c.appendBounded(c.bounded[:0])
	c.budget.spread(c.bounded, c.windowsWithShares(), reserved, c.sketchInstead)
}

// makeRoom closes the oldest windows until the window that has just opened fits into the budget.
func (c *Counter) makeRoom() {
	c.opened = false
	if c.budget.total == 0 {
		return
	}
	for {
		c.bounded = c.appendBounded(c.bounded[:0])
		if c.budget.reserve(c.bounded, c.windowsWithShares()) <= c.budget.total || !c.windows.EvictOldest() {
			break
		}
	}
	c.shareBudget()
}

// windowsWithShares returns how many windows share the budget: the open windows, and the past.
func (c *Counter) windowsWithShares() (n int) {
	c.allWindows(func(*window) { n++ })
	if c.past != nil {
		n++
	}
	return n
}

// appendBounded appends the counters that can be bounded: first the windows' counters in
// the windows' order, then the past's.
func (c *Counter) appendBounded(all []engine.Bounded) []engine.Bounded {
	add := func(counter any) {
		if b, ok := counter.(engine.Bounded); ok {
			all = append(all, b)
		}
	}
	c.allWindows(func(w *window) {
		for i := range w.keys {
			k := &w.keys[i]
			add(k.addr4.Counter)
			add(k.v4.Counter)
			add(k.v6.Counter)
			add(k.mac.Counter)
			add(k.addr4.preallocated)
			add(k.v4.preallocated)
			add(k.v6.preallocated)
			add(k.mac.preallocated)
			if k.ranking.Summary != nil {
				add(k.ranking.Summary)
			}
		}
	})
	if c.past == nil {
		return all
	}
	for i := range c.past.keys {
		for _, s := range c.past.keys[i].families() {
			if *s != nil {
				add(*s)
			}
		}
	}
	return all
}
