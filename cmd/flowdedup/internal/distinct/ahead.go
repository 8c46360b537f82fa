package distinct

import (
	"math"

	"github.com/flowdedup/flowdedup/engine"
)

const (
	// aheadCheck is the number of packets between two looks at whether the next window
	// is near.
	aheadCheck = 1 << 12
	// aheadPart of a window's time is left when the counters of the next are made ready.
	aheadPart = 8
	// aheadLeast is the memory from which that is worth it, and from which closing takes
	// long enough to be done in the background.
	aheadLeast = 256 << 10
)

// spare is the counters of a window to come, which are made in the background: of a size
// at which they need not grow if that window has as many keys as the one before.
type spare struct {
	start  int64 // of the window
	keys   []keyCounters
	memory int           // that they take
	ready  chan struct{} // closed when no more are made
}

// near returns from when on the counters for the window after one with these bounds are
// made.
func near(start, end int64) int64 { return end - (end-start)/aheadPart }

// lookAhead makes counters for the window after w once the packet times of w come close
// to it. That and their size are decided at a position of the stream, so what is told of
// memory depends neither on batches nor on how fast they come.
func (c *Counting) lookAhead(w *window, t int64) {
	if w.near == math.MaxInt64 || t < w.near {
		return
	}
	w.near = math.MaxInt64 // once
	s := &spare{start: w.end, keys: make([]keyCounters, len(w.keys)), ready: make(chan struct{})}
	memory, work := 0, []func(){}
	for i := range w.keys {
		k, next := &w.keys[i], &s.keys[i]
		addresses := successor(&k.addr4, &next.addr4, c.cfg.newAddresses, &memory)
		work = append(work, addresses,
			successor(&k.v4, &next.v4, c.cfg.newDigests, &memory),
			successor(&k.v6, &next.v6, c.cfg.newDigests, &memory),
			successor(&k.mac, &next.mac, c.cfg.newDigests, &memory))
	}
	if memory == 0 || memory > c.budget.othersLimit() {
		return
	}
	c.dropSpare()
	s.memory = memory
	c.spare = s
	c.background.Go(func() error {
		defer close(s.ready)
		for _, do := range work {
			do()
		}
		return nil
	})
}

// successor returns what makes a counter for the window after that of now, and adds what it
// takes to memory. It does nothing where that is not worth it, or fails: then the first
// element makes one.
func successor[E any](now, next *counted[E], create func(memory int) (engine.Counter[E], error), memory *int) func() {
	sized, ok := now.Counter.(engine.Sized)
	if !ok {
		return func() {}
	}
	// As many more as would come until the window ends if all went on as it did.
	size := sized.MemoryFor(now.Counts().Distinct / (aheadPart - 1) * aheadPart)
	if size < aheadLeast {
		return func() {}
	}
	*memory += size
	return func() {
		made, err := create(size)
		if err != nil {
			return
		}
		made.(engine.Sized).Populate()
		next.ahead = made
	}
}

// openWindow makes a window, of the counters that were made ready for it if there are any.
func (c *Counting) openWindow(start, end int64) *window {
	w := newWindow(start, end, c.cfg)
	if s := c.spare; s != nil && s.start == start {
		<-s.ready
		w.keys, c.spare = s.keys, nil
	}
	return w
}

// dropSpare gives counters back that no window came for.
func (c *Counting) dropSpare() {
	s := c.spare
	if s == nil {
		return
	}
	c.spare = nil
	c.background.Go(func() error {
		<-s.ready
		return closeKeys(s.keys)
	})
}
