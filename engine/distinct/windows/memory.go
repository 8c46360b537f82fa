// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
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
	// preallocateLeast is the memory from which preallocating pays.
	preallocateLeast = 256 << 10
	// closeBehind is the memory from which closing a window takes so long that it is done in
	// the background: smaller windows may close faster than the background returns memory.
	closeBehind = 4 << 20

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

// evictWindows closes windows early while all but the current window hold too much.
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
// enough not to grow if that window has as many elements as the current window.
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
	if p.memory == 0 || p.memory > c.budget.othersLimit() || c.budget.total > 0 && c.budget.held+peak(p.memory) > c.budget.total {
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

// takePreallocated returns the counters for the window from start on: the preallocated ones, if there
// are any, else the empty counters of a window that closed, else nil.
func (c *Counter) takePreallocated(start int64) (keys []keyCounters) {
	if p := c.preallocated; p != nil && p.start == start {
		<-p.ready
		keys, c.preallocated = p.keys, nil
		return keys
	}
	keys, c.spare = c.spare, nil
	return keys
}

// recycle empties the counters of a window that closed for the next window: new memory takes
// most of the time of windows of a few packets. A budget counts no empty counters, so with a budget
// recycle closes them.
func (c *Counter) recycle(w *window) {
	if c.spare != nil || c.budget.total > 0 {
		c.keepError(w.close())
		return
	}
	for i := range w.keys {
		k := &w.keys[i]
		c.keepError(errors.Join(k.addr4.recycle(), k.v4.recycle(), k.v6.recycle(), k.mac.recycle()))
		k.ranking = ranking{}
	}
	c.spare = w.keys
}

// recycle empties the counter for another window if its memory is as of a new counter, else
// it closes the counter.
func (c *familyCounter[E]) recycle() error {
	used := c.Counter
	if used == nil {
		used = c.preallocated
	}
	*c = familyCounter[E]{}
	if used == nil {
		return nil
	}
	if small, ok := used.(interface{ Reset() bool }); ok && small.Reset() {
		c.preallocated = used
		return nil
	}
	return used.Close()
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
