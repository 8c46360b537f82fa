package distinct

import (
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
)

const (
	// budgetWindows is how many windows the budget keeps a share for: the current one, the one
	// before it, which waits for late packets, and the past.
	budgetWindows = 3
	// budgetAhead is how many elements a counter may get between two looks at the budget, every
	// aheadCheck packets: it must not come to its bound while there is memory.
	budgetAhead = 1 << 15
)

// budget is the memory that the counters of a run have together. Half of it is kept in equal shares for
// the counters that there may be, so that a new window finds memory whatever the others hold. The rest is
// for those that need it first.
type budget struct {
	total int // bytes; 0 for no bound
	slots int // counters that there may be
}

func newBudget(cfg *Config) budget {
	b := budget{total: cfg.Budget}
	for i := range cfg.Keys {
		b.slots += 2 * budgetWindows // IPv4 and IPv6
		if cfg.Keys[i].Of == flow.MACs {
			b.slots -= budgetWindows
		}
	}
	return b
}

// share is what each counter may have whatever the others hold.
func (b *budget) share() int { return b.total / 2 / max(1, b.slots) }

// spread bounds counters, of which each keeps what it has. So much is held by nobody yet.
func (b *budget) spread(counters []engine.Bounded, reserved int) {
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
		}
		c.Limit(limit)
	}
}

// keepBudget bounds all counters. It is called at positions of the stream that do not depend on
// batches, when all keys have come as far.
func (c *Counting) keepBudget() {
	if c.budget.total == 0 {
		return
	}
	reserved := 0
	if c.spare != nil {
		reserved = c.spare.memory
	}
	c.bounded = c.appendBounded(c.bounded[:0])
	c.budget.spread(c.bounded, reserved)
}

// appendBounded appends the counters that there are and that can be bounded, in the order of windows.
func (c *Counting) appendBounded(all []engine.Bounded) []engine.Bounded {
	add := func(counter any) {
		if b, ok := counter.(engine.Bounded); ok {
			all = append(all, b)
		}
	}
	c.windows.Each(func(_, _, _ int64, w *window) {
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
		k := &c.past.keys[i]
		for _, s := range []*engine.Sliding{k.v4, k.v6, k.mac} {
			if s != nil {
				add(s)
			}
		}
	}
	return all
}

// othersLimit is what windows other than the current one may hold, and counters for the one to come.
func (b *budget) othersLimit() int {
	if b.total == 0 {
		return memoryLimit
	}
	return min(memoryLimit, b.total/4)
}
