// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math"

	"github.com/flowdedup/flowdedup/engine"
)

const (
	// budgetCheck is the number of packets after which the budget is shared anew, and the
	// counters of the next window may be preallocated. evictCheck, a multiple of it, is
	// the number after which windows may close for want of memory.
	budgetCheck = 1 << 12
	evictCheck  = 1 << 16
	// othersLimit bounds the memory of all windows except the current one.
	othersLimit = 1 << 30

	// The counters of the next window are preallocated when 1/preallocatePart of a
	// window's time is left.
	preallocatePart = 8
	// preallocateLeast is the memory from which preallocating pays. From this size on
	// closing takes so long that it is done in the background.
	preallocateLeast = 256 << 10

	// budgetAhead bounds the elements that a counter may get within budgetCheck packets.
	// A counter must not reach its bound while there is memory.
	budgetAhead = 1 << 15
)

// checkMemory does the checks that are due at this position of the stream, after a packet
// of window w with time t. w is nil after a late packet. Runs of packets end at all
// multiples of both checks, so this does not depend on batches.
func (c *Counter) checkMemory(w *window, t int64) {
	if c.packets%evictCheck == 0 {
		c.evictWindows(w)
	}
	if c.packets%budgetCheck != 0 {
		return
	}
	if c.cfg.SetLimit > 0 {
		c.allWindows(c.limitSets)
	}
	c.shareBudget()
	if w != nil && t >= w.almostOver {
		c.preallocate(w)
	}
}

// evictWindows closes windows early while all but the current one hold too much.
func (c *Counter) evictWindows(current *window) {
	for {
		total := 0
		for w := range c.windows.All() {
			if w != current {
				total += w.memory(c.cfg)
			}
		}
		if total <= c.budget.othersLimit() || !c.windows.EvictOldest() {
			return
		}
	}
}

// preallocated is the counters of the next window. They are made in the background, large
// enough not to grow if that window has as many elements as this one.
type preallocated struct {
	start  int64 // of the window
	keys   []keyCounters
	memory int           // size of the counters
	ready  chan struct{} // closed when all are made
}

// preallocate makes the counters for the window after w, once. It is called at a fixed
// position in the stream, and the sizes follow from the contents of w there. So the
// memory that is reported depends neither on batches nor on how fast they come.
//
// Without it the first packets of a window of 2 million wait for 2 ms instead of 0.3, and
// counting takes 94 ns a packet instead of 55 (BenchmarkPause).
func (c *Counter) preallocate(w *window) {
	w.almostOver = math.MaxInt64 // once
	p := &preallocated{start: w.end, keys: make([]keyCounters, len(w.keys)), ready: make(chan struct{})}
	var work []func()
	for i := range w.keys {
		k, next := &w.keys[i], &p.keys[i]
		work = append(work,
			successor(&k.addr4, &next.addr4, c.cfg.newAddresses, &p.memory),
			successor(&k.v4, &next.v4, c.cfg.newDigests, &p.memory),
			successor(&k.v6, &next.v6, c.cfg.newDigests, &p.memory),
			successor(&k.mac, &next.mac, c.cfg.newDigests, &p.memory))
	}
	if p.memory == 0 || p.memory > c.budget.othersLimit() {
		return
	}
	c.dropPreallocated()
	c.preallocated = p
	c.background.Go(func() error {
		defer close(p.ready)
		for _, do := range work {
			do()
		}
		return nil
	})
}

// successor returns a function that makes the counter of the next window, and adds its
// size to memory. Where that does not pay, or fails, the first element makes the counter.
func successor[E any](
	now, next *familyCounter[E], create func(memory int) (engine.Counter[E], error), memory *int,
) func() {
	sized, ok := now.Counter.(engine.Sized)
	if !ok {
		return func() {}
	}
	// The number of elements that the window will have at its end at the present rate.
	size := sized.MemoryFor(now.Counts().Distinct / (preallocatePart - 1) * preallocatePart)
	if size < preallocateLeast {
		return func() {}
	}
	*memory += size
	return func() {
		made, err := create(size)
		if err != nil {
			return
		}
		made.(engine.Sized).Populate()
		next.preallocated = made
	}
}

// takePreallocated gives a new window its preallocated counters, if there are any.
func (c *Counter) takePreallocated(w *window) {
	if p := c.preallocated; p != nil && p.start == w.start {
		<-p.ready
		w.keys, c.preallocated = p.keys, nil
	}
}

// dropPreallocated closes preallocated counters whose window never came.
func (c *Counter) dropPreallocated() {
	p := c.preallocated
	if p == nil {
		return
	}
	c.preallocated = nil
	c.background.Go(func() error {
		<-p.ready
		return closeKeys(p.keys)
	})
}

// budget is the memory that all counters have together. A quarter of it is reserved in
// equal shares for all possible counters: of the current window, of the one before it,
// which waits for late packets, of the whole stream, and of the past. So a new window
// finds memory whatever the others hold. The rest goes to the counters that need it
// first.
type budget struct {
	total int // bytes; 0 for no bound
	slots int // number of possible counters
}

func newBudget(cfg *Config) budget {
	windows, families := 2, 0
	if cfg.Past > 0 {
		windows++
	}
	if cfg.Total != nil {
		windows++
	}
	for i := range cfg.Keys {
		if families++; !cfg.Keys[i].MAC {
			families++ // IPv4 and IPv6
		}
	}
	return budget{cfg.Budget, windows * families}
}

// share is the guaranteed memory of each counter.
func (b *budget) share() int { return b.total / 4 / max(1, b.slots) }

// spread divides the budget among counters. Each keeps its present memory. reserved bytes
// belong to none of them. Counters for which fallback returns true use a sketch instead
// of sampling.
func (b *budget) spread(counters []engine.Bounded, reserved int, fallback func(engine.Bounded) bool) {
	share := b.share()
	held := reserved + max(0, b.slots-len(counters))*share
	for _, c := range counters {
		held += max(c.Needs(0), share)
	}
	for _, c := range counters {
		limit := max(c.Needs(0), share)
		if more := c.Needs(budgetAhead) - limit; more > 0 && held+more <= b.total {
			held += more
			limit += more
		} else if more > 0 && fallback(c) {
			continue
		}
		c.Limit(limit)
	}
}

// othersLimit bounds the memory of all windows except the current one. It is also the bound
// for the counters of the next one.
func (b *budget) othersLimit() int {
	if b.total == 0 {
		return othersLimit
	}
	return min(othersLimit, b.total/4)
}

// shareBudget sets the bounds of all counters. It is called at positions that do not
// depend on batches, when all keys have counted the same packets.
func (c *Counter) shareBudget() {
	if c.budget.total == 0 {
		return
	}
	reserved := 0
	if c.preallocated != nil {
		reserved = c.preallocated.memory
	}
	c.bounded = c.appendBounded(c.bounded[:0])
	c.budget.spread(c.bounded, reserved, c.sketchInstead)
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
