// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// Capture is live traffic as a capture.Source with one input. The input is a pcapng
// section with an interface for each of Config.Interfaces, and ends with their
// statistics. One goroutine at a time may call Start, Next and Close; any goroutine may
// call the other methods. It is a capture.Lender if Config.InPlace is set.
type Capture struct {
	*sockets.Capture
	conf   Config
	rings  []*ring // of all interfaces
	blocks uint
	lent   loans
}

var (
	_ capture.LiveSource = (*Capture)(nil)
	_ capture.Lender     = (*Capture)(nil)
)

// Open starts to capture. With Config.StartPaused it only prepares, and Capture.Start
// starts. When Open returns, all interfaces let packets into their rings, except packets that
// the filter rejects. The rings take Config.RingBytes of memory each.
//
// The error is ErrNotPermitted without CAP_NET_RAW, and without Config.Wait ErrNoInterface for a
// name that does not exist and ErrDown for an interface that is down.
func Open(conf Config) (*Capture, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Capture{conf: conf}
	c.Capture, err = sockets.New(sockets.Config{Wait: conf.Wait, Idle: conf.Idle, IdleNow: conf.IdleNow, DrainTime: drainTime(&conf), Fill: c.fill})
	if err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		_ = c.Close() // Open reports the first error
		return nil, err
	}
	return c, nil
}

// drainTime bounds how long the kernel may take to hand over the last ring block.
func drainTime(c *Config) time.Duration {
	return 2*c.BlockTimeout + 200*time.Millisecond
}

func (c *Capture) open() error {
	for i, name := range c.conf.Interfaces {
		d, err := expect(name, c.conf.Wait)
		if err != nil {
			return err
		}
		p, err := newPort(d, &c.conf, uint32(i))
		if err != nil {
			return err
		}
		c.rings = append(c.rings, p.rings...)
		if err := c.Add(p, c.conf.SnapLen); err != nil {
			return err
		}
	}
	if c.conf.StartPaused {
		return nil
	}
	return c.Start()
}

// Next returns the packets of one or more ring blocks, the oldest block first, as
// capture.Source specifies. Packets of one ring stay in order. The first batch comes at
// once: it holds the headers of the section and no packet. A later batch without packets
// means that Config.Idle has passed.
//
// After Stop, Next delivers everything that was captured, then the statistics, then
// io.EOF. An interface that goes down or away ends the capture in the same way, but with
// ErrDown or ErrRemoved.
func (c *Capture) Next(b *capture.Batch) error {
	c.GiveBack(b)
	return c.Capture.Next(b)
}

// statsEvery is how many ring blocks pass between two reads of the kernel's counters,
// which have 32 bits.
const statsEvery = 1 << 10

// GiveBack implements capture.Lender: the kernel gets the ring blocks of a batch in place.
func (c *Capture) GiveBack(b *capture.Batch) {
	if c.lent.end(b) {
		b.Reset()
		b.Buf = nil // it is ring memory: nothing may be appended to it
	}
}

// Close releases the sockets, and drops packets that Next has not delivered. Batches stay
// valid, except those in place.
func (c *Capture) Close() error {
	err := c.Capture.Close()
	c.lent.endAll()
	return err
}

// fill appends the packets of ready ring blocks, the oldest block first. It takes
// several, so that the sparsely filled blocks of a short timeout do not become tiny
// batches. An in-place batch has the blocks of one ring only. It returns how many bytes
// the records take.
func (c *Capture) fill(b *capture.Batch) (int, error) {
	first := c.oldest()
	if first == nil {
		return 0, nil
	}
	inPlace := c.conf.InPlace
	if inPlace {
		b.Buf, first.walker.bytes = first.mapping.memory, 0
	}
	var err error
	for r := first; err == nil && r != nil && !r.walker.full(b); r = c.oldest() {
		if inPlace && r != first {
			break
		}
		err = c.take(r, b)
	}
	if inPlace {
		return int(first.walker.bytes), err
	}
	return len(b.Buf), err
}

// take appends packets of one ring block. The error is that the block is damaged.
func (c *Capture) take(r *ring, b *capture.Batch) error {
	err := r.take(b, &c.lent)
	r.publish()
	if c.blocks++; c.blocks%statsEvery == 0 {
		for _, r := range c.rings {
			r.readStats()
		}
	}
	return err
}

// oldest returns the ring whose next block began first, among those with a ready block, or nil.
func (c *Capture) oldest() *ring {
	var best *ring
	least, now := int64(0), time.Now().UnixNano()
	for _, r := range c.rings {
		if !r.ready() {
			continue
		}
		if began := beganBefore(r.first(), now); best == nil || began < least {
			best, least = r, began
		}
	}
	return best
}

// beganBefore returns a time to order ring blocks by. A block of the future began before the
// clock was set back: it is older than all others. Else, under load, its ring would lose all
// packets until the clock has caught up. A block of the last moment may be a little ahead of now.
func beganBefore(began, now int64) int64 {
	if began > now+int64(time.Second) {
		return began - math.MaxInt64
	}
	return began
}

// Start lets packets in after Config.StartPaused, before the first Next.
func (c *Capture) Start() error { return c.Capture.Start() }

// Stop ends the capture: Next delivers the packets that were captured until now, and then returns
// io.EOF. It wakes a Next that waits. Any goroutine may call it, as context.AfterFunc(ctx, c.Stop)
// does.
func (c *Capture) Stop() { c.Capture.Stop() }

// Stats returns the counts of each ring of each interface. Any goroutine may call it at
// any time, also after Close.
func (c *Capture) Stats() []Stats {
	all := make([]Stats, len(c.rings))
	for i, r := range c.rings {
		all[i] = r.readStats()
	}
	return all
}
