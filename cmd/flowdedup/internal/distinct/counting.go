package distinct

import (
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// memoryCheck is the number of packets between two looks at the memory of
	// open windows, and memoryLimit what windows other than the current one
	// may hold then.
	memoryCheck = 1 << 16
	memoryLimit = 1 << 30
)

// Counting counts the keys of a stream: what the batches of a run have in common.
type Counting struct {
	cfg        *Config
	loc        *time.Location
	digest     digesters
	windows    *calendar.Stream[window]
	sliding    *slidingCounting // in place of windows
	past       *past            // nil without
	by         settling         // none without a past
	budget     budget
	bounded    []engine.Bounded // scratch
	packets    uint64
	spare      *spare         // counters for a window to come, or nil
	background errgroup.Group // that makes those, and closes others
	err        error          // the first failure to count or to tell; it ends the run
}

// NewCounting makes counters for what cfg asks for, and which must not change any
// more. It needs nothing of what cfg says of inputs.
func NewCounting(cfg *Config) *Counting {
	c := &Counting{cfg: cfg, loc: cfg.Calendar.Location, digest: newDigesters(cfg.Secret), by: noneSettled(cfg.Keys), budget: newBudget(cfg)}
	if c.loc == nil {
		c.loc = time.UTC
	}
	c.windows = calendar.NewStream(calendar.StreamConfig[window]{
		Calendar: cfg.Calendar,
		Open:     c.openWindow,
		Close:    c.closeWindow,
	})
	if cfg.Slide > 0 {
		c.sliding = newSlidingCounting(cfg, c.loc)
	}
	if cfg.Past > 0 {
		c.past = newPast(cfg, c.budget.share())
		if cfg.Sighting == nil && cfg.Method != methodRows { // which are told of all elements, or forget
			c.by = newSettling(cfg.Keys)
		}
	}
	return c
}

// NewPackets makes what one batch at a time is counted with.
func (c *Counting) NewPackets() *Packets { return newPackets(c) }

// Late returns how many packets came after their window had closed. With Slide it is those
// that came after the row of their slide, so that rows lack them, and those that have no
// time, or one that was not believed.
func (c *Counting) Late() uint64 {
	if c.sliding != nil {
		return c.sliding.late
	}
	return c.windows.Late()
}

// Close tells the counts of all windows that are open, and gives their memory back. The
// error is an *OutputError: the first failure of all, which Packets.Count may have
// returned before.
func (c *Counting) Close() error {
	c.windows.Close()
	c.dropSpare()
	if err := c.background.Wait(); c.err == nil {
		c.err = err
	}
	if c.past != nil {
		if err := c.past.close(); c.err == nil {
			c.err = err
		}
	}
	if c.sliding != nil {
		if err := c.sliding.close(); c.err == nil {
			c.err = err
		}
	}
	if c.err != nil {
		return &OutputError{c.err}
	}
	return nil
}

// Abandon gives the memory of all windows back without telling their counts, which were
// saved.
func (c *Counting) Abandon() error {
	c.cfg.Rows = func([]Row) error { return nil }
	return c.Close()
}

// closeWindow tells a window's counts, unless something failed before.
func (c *Counting) closeWindow(_, _ int64, w *window) {
	if c.err == nil {
		c.err = c.cfg.Rows(w.rows(c))
	}
	if w.memory(c.cfg) >= aheadLeast {
		c.background.Go(w.close)
	} else if err := w.close(); c.err == nil {
		c.err = err
	}
}

// shed closes windows early where many large ones are open beside the current
// one, which stays anyway.
func (c *Counting) shed(current *window) {
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
