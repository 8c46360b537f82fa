package ring

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// Capture is live traffic as a capture.Source with one input. The input is a pcapng
// section with an interface for each of Config.Interfaces, and ends with their
// statistics. One goroutine at a time may call Next and Close; any goroutine may call the
// other methods.
type Capture struct {
	conf     Config
	ports    []*port
	rings    []*ring // of all ports
	ifaces   []capture.Interface
	sections []capture.Section

	state   state
	end     error     // what Next returns at last
	until   time.Time // deadline for draining
	checked time.Time // when interfaces that are down were last looked up
	blocks  uint
	polled  []unix.PollFd
	done    atomic.Int64

	stop *sockets.Event // ends a wait
}

// state is the stage that a capture has reached.
type state uint8

const (
	fresh    state = iota // Next has delivered nothing yet
	running               // packets come
	draining              // the kernel adds no more; Next delivers what the rings hold
	drained               // only the statistics are left
	ended
)

// Open starts to capture. With Config.StartPaused it only prepares, and Capture.Start
// starts. When Open returns, all interfaces let packets into their rings. No packet of
// another interface, and none that the filter rejects, is among them. The rings take
// Config.RingBytes of memory each.
//
// The error is ErrNotPermitted without CAP_NET_RAW, ErrNoInterface for a name that does
// not exist, and ErrDown for an interface that is down, unless Config.Wait is set.
func Open(conf Config) (*Capture, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Capture{conf: conf, end: io.EOF}
	if c.stop, err = sockets.NewEvent(); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		_ = c.Close() // Open reports the first error
		return nil, err
	}
	return c, nil
}

func (c *Capture) open() error {
	c.sections = []capture.Section{{Format: capture.FormatPcapNG}}
	for i, name := range c.conf.Interfaces {
		d, err := lookUp(name)
		if err != nil {
			return err
		}
		p, err := newPort(d, &c.conf, uint32(i))
		if err != nil {
			return err
		}
		c.ports = append(c.ports, p)
		c.rings = append(c.rings, p.rings...)
		c.ifaces = append(c.ifaces, capture.Interface{
			ID: uint32(i), CapturePoint: uint32(i), Name: name, LinkType: d.link,
			SnapLen: uint32(c.conf.SnapLen), TicksPerSecond: 1e9,
		})
		if err := c.openPort(p); err != nil {
			return err
		}
	}
	if c.conf.StartPaused {
		return nil
	}
	return c.Start()
}

// Start lets packets in. Call it after an Open with Config.StartPaused and before the
// first Next. Its errors are those of Open.
func (c *Capture) Start() error {
	for _, p := range c.ports {
		if p.down {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// openPort opens the rings of an interface. With Config.Wait it accepts that the
// interface is down.
func (c *Capture) openPort(p *port) error {
	if !p.dev.up {
		if !c.conf.Wait {
			return fmt.Errorf("%s: %w: ip link set %s up", p.dev.name, ErrDown, p.dev.name)
		}
		p.down = true
		return nil
	}
	return p.open()
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
	b.Reset()
	if c.conf.InPlace {
		c.releaseBlocks(b)
	}
	b.Interfaces, b.Sections = c.ifaces, c.sections
	switch c.state {
	case fresh:
		c.state = running
		c.appendHeaders(b)
		return nil
	case ended:
		return c.end
	}
	var idle time.Time
	if c.conf.Idle > 0 {
		idle = time.Now().Add(c.conf.Idle)
	}
	c.poll(0) // while packets keep coming, nothing below polls
	for {
		c.resumeReady()
		c.fill(b)
		if len(b.Frames) > 0 {
			return nil
		}
		if c.state == draining && (c.allDrained() || time.Now().After(c.until)) {
			c.state = drained
		}
		if c.state == drained {
			c.state = ended
			c.appendStatistics(b)
			return nil
		}
		if !c.wait(idle) {
			return nil
		}
	}
}

// appendHeaders appends the headers of the section.
func (c *Capture) appendHeaders(b *capture.Batch) {
	b.Buf = capture.AppendSectionHeader(b.Buf)
	addBlock(b, capture.BlockSectionHeader, 0)
	for i := range c.ifaces {
		at := len(b.Buf)
		b.Buf = capture.AppendInterface(b.Buf, &c.ifaces[i], true)
		addBlock(b, capture.BlockInterface, at)
	}
}

// appendStatistics appends the statistics of every interface.
func (c *Capture) appendStatistics(b *capture.Batch) {
	now := time.Now().UnixNano()
	for i, p := range c.ports {
		var received, dropped uint64
		for _, r := range p.rings {
			s := r.readStats()
			received += s.Received
			dropped += s.Dropped
		}
		at := len(b.Buf)
		b.Buf = capture.AppendStatistics(b.Buf, uint32(i), now, received, dropped)
		addBlock(b, capture.BlockStatistics, at)
	}
	if c.end != io.EOF {
		c.end = c.endReason()
	}
}

// endReason returns the error that ended the capture. Only now, after draining, is it
// known whether an interface that went down was removed.
func (c *Capture) endReason() error {
	for _, p := range c.ports {
		if p.down && !c.conf.Wait {
			return p.downReason()
		}
	}
	return c.end
}

func addBlock(b *capture.Batch, kind uint32, at int) {
	b.Blocks = append(b.Blocks, capture.Block{
		Type: kind, Offset: uint32(at), Len: uint32(len(b.Buf) - at), Before: uint32(len(b.Frames)),
	})
}

// statsEvery is how many ring blocks pass between two reads of the kernel's counters,
// which have 32 bits.
const statsEvery = 1 << 10

// releaseBlocks returns the ring blocks of the last in-place batch to the kernel.
func (c *Capture) releaseBlocks(b *capture.Batch) {
	b.Buf = nil // it is ring memory: nothing may be appended to it
	for _, r := range c.rings {
		r.releaseBlocks()
	}
}

// fill appends the packets of ready ring blocks, the oldest block first. It takes
// several, so that the sparsely filled blocks of a short timeout do not become tiny
// batches. An in-place batch has the blocks of one ring only.
func (c *Capture) fill(b *capture.Batch) {
	first := c.oldest()
	if first == nil {
		return
	}
	inPlace := c.conf.InPlace
	if inPlace {
		b.Buf, first.walker.bytes = first.memory, 0
	}
	for r := first; r != nil && !r.walker.full(b); r = c.oldest() {
		if inPlace && r != first || !c.take(r, b) {
			break
		}
	}
	size := len(b.Buf)
	if inPlace {
		size = int(first.walker.bytes)
	}
	c.done.Add(int64(size))
}

// take appends packets of one ring block. It returns false if the block is damaged.
func (c *Capture) take(r *ring, b *capture.Batch) bool {
	err := r.take(b)
	r.publish()
	if err != nil {
		c.state, c.end = drained, err
		return false
	}
	if c.blocks++; c.blocks%statsEvery == 0 {
		for _, r := range c.rings {
			r.readStats()
		}
	}
	return true
}

// oldest returns the ring whose next block began first, among those with a ready block,
// or nil.
func (c *Capture) oldest() *ring {
	var best *ring
	for _, r := range c.rings {
		if r.ready() && (best == nil || r.first() < best.first()) {
			best = r
		}
	}
	return best
}

func (c *Capture) allDrained() bool {
	for _, p := range c.ports {
		if !p.drained() {
			return false
		}
	}
	return true
}

// drain stops the intake. After all packets are delivered, Next returns end.
func (c *Capture) drain(end error) {
	if c.state >= draining {
		return
	}
	c.state, c.end = draining, end
	c.until = time.Now().Add(drainTime(&c.conf))
	for _, p := range c.ports {
		p.stop()
	}
}

// Inputs returns one name: those of the interfaces, separated by commas.
func (c *Capture) Inputs() []string { return []string{strings.Join(c.conf.Interfaces, ",")} }

// Offset returns how many bytes of records were delivered. For in-place batches it is an
// estimate. There is no total.
func (c *Capture) Offset() (done, total int64) { return c.done.Load(), 0 }

// Size returns 0: it is not known.
func (c *Capture) Size() int64 { return 0 }

// Stats returns the counts of each ring of each interface. Any goroutine may call it at
// any time, also after Close.
func (c *Capture) Stats() []Stats {
	all := make([]Stats, len(c.rings))
	for i, r := range c.rings {
		all[i] = r.readStats()
	}
	return all
}

// Stop ends the capture: Next delivers what was captured until now and then returns
// io.EOF. Stop wakes a Next that waits. context.AfterFunc(ctx, c.Stop) ties the capture
// to a context.
func (c *Capture) Stop() { c.stop.Set() }

// Close releases the rings and drops what Next has not delivered. Batches stay valid,
// except in-place ones.
func (c *Capture) Close() error {
	if c.state = ended; c.end == io.EOF {
		c.end = os.ErrClosed
	}
	for _, p := range c.ports {
		p.close()
	}
	c.stop.Close()
	return nil
}
