package ring

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// Capture is live traffic as a capture.Source of one input: a pcapng section with
// an interface for each of Config.Interfaces, and their statistics at its end.
// Next and Close are for one goroutine at a time, the others for any.
type Capture struct {
	conf     Config
	ports    []*port
	rings    []*ring // of all ports
	ifaces   []capture.Interface
	sections []capture.Section

	state   state
	end     error     // what Next returns at last
	until   time.Time // when draining ends at the latest
	checked time.Time // when interfaces that are out were last looked at
	blocks  uint
	polled  []unix.PollFd
	done    atomic.Int64

	stop   sync.Mutex // over wakeUp
	wakeUp int        // event that ends a wait; -1 once closed
}

// state is how far a capture has come.
type state uint8

const (
	fresh    state = iota // nothing was delivered
	running               // packets come
	draining              // no more come; what the rings hold is delivered
	drained               // only the statistics are left
	ended
)

// Open begins to capture, unless Config.Hold leaves that to Begin. It returns once all
// interfaces let packets into their
// rings, and no packet of another interface, or that the filter rejects, is among
// them. Without CAP_NET_RAW the error is ErrNotPermitted; a wrong name
// ErrNoInterface, and one that is down ErrDown, unless Config.Wait says to wait for
// it. Memory is Config.RingBytes for each ring.
func Open(conf Config) (*Capture, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Capture{conf: conf, end: io.EOF, wakeUp: -1}
	if err := c.open(); err != nil {
		_ = c.Close() // the error that counts is the other
		return nil, err
	}
	return c, nil
}

func (c *Capture) open() error {
	var err error
	if c.wakeUp, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
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
		if err := c.start(p); err != nil {
			return err
		}
	}
	if c.conf.Hold {
		return nil
	}
	return c.Begin()
}

// Begin lets packets in, after an Open with Config.Hold and before the first Next. Errors
// are those of Open.
func (c *Capture) Begin() error {
	for _, p := range c.ports {
		if p.out {
			continue
		}
		if err := p.admit(); err != nil {
			return err
		}
	}
	return nil
}

// start opens the rings of an interface, or notes that it is not up.
func (c *Capture) start(p *port) error {
	if !p.dev.up {
		if !c.conf.Wait {
			return fmt.Errorf("%s: %w: ip link set %s up", p.dev.name, ErrDown, p.dev.name)
		}
		p.out = true
		return nil
	}
	return p.open()
}

// Next returns packets of one block or more, the oldest block first, as
// capture.Source says. Packets of one ring are in order. The first batch holds no
// packet but the headers of the section and comes at once; later, a batch without
// packets means that Config.Idle has passed. After Stop everything that was captured
// is delivered, then the statistics, then io.EOF. An interface that goes away ends the
// capture in the same way, but with ErrDown or ErrRemoved.
func (c *Capture) Next(b *capture.Batch) error {
	b.Reset()
	if c.conf.InPlace {
		c.vacate(b)
	}
	b.Interfaces, b.Sections = c.ifaces, c.sections
	switch c.state {
	case fresh:
		c.state = running
		c.describe(b)
		return nil
	case ended:
		return c.end
	}
	var idle time.Time
	if c.conf.Idle > 0 {
		idle = time.Now().Add(c.conf.Idle)
	}
	c.poll(0) // where there always are packets, wait would never be called
	for {
		c.recheck()
		c.gather(b)
		if len(b.Frames) > 0 {
			return nil
		}
		if c.state == draining && (c.allDrained() || time.Now().After(c.until)) {
			c.state = drained
		}
		if c.state == drained {
			c.state = ended
			c.summarise(b)
			return nil
		}
		if !c.wait(idle) {
			return nil
		}
	}
}

// describe appends the headers of the section.
func (c *Capture) describe(b *capture.Batch) {
	b.Buf = capture.AppendSectionHeader(b.Buf)
	addBlock(b, capture.BlockSectionHeader, 0)
	for i := range c.ifaces {
		at := len(b.Buf)
		b.Buf = capture.AppendInterface(b.Buf, &c.ifaces[i], true)
		addBlock(b, capture.BlockInterface, at)
	}
}

// summarise appends the statistics of every interface.
func (c *Capture) summarise(b *capture.Batch) {
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
		c.end = c.why()
	}
}

// why returns the error that ended the capture. Of an interface that went it is
// known only now whether it was removed.
func (c *Capture) why() error {
	for _, p := range c.ports {
		if p.out && !c.conf.Wait {
			return p.reason()
		}
	}
	return c.end
}

func addBlock(b *capture.Batch, kind uint32, at int) {
	b.Blocks = append(b.Blocks, capture.Block{
		Type: kind, Offset: uint32(at), Len: uint32(len(b.Buf) - at), Before: uint32(len(b.Frames)),
	})
}

// statsEvery is how many blocks are taken between two readings of the kernel's
// counters, which have 32 bits.
const statsEvery = 1 << 10

// vacate gives back what the last batch in place lay in.
func (c *Capture) vacate(b *capture.Batch) {
	b.Buf = nil // not for what is appended to it
	for _, r := range c.rings {
		r.giveBack()
	}
}

// gather appends packets of blocks that are ready, the oldest first, so that
// the many little filled blocks of short timeouts do not make many little batches. In place
// they are all of one ring.
func (c *Capture) gather(b *capture.Batch) {
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

// take appends packets of a block of a ring, and returns false if it is damaged.
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

// oldest returns the ring whose next block, which is ready, began first, or nil.
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

// drain lets nothing more in, and end be what Next returns when everything has
// been delivered.
func (c *Capture) drain(end error) {
	if c.state >= draining {
		return
	}
	c.state, c.end = draining, end
	c.until = time.Now().Add(drainTime(&c.conf))
	for _, p := range c.ports {
		p.refuse()
	}
}

// Inputs returns the interfaces' names as that of one input.
func (c *Capture) Inputs() []string { return []string{strings.Join(c.conf.Interfaces, ",")} }

// Offset returns how many bytes of records there were, or in place about as many as there would
// have been; there is no total.
func (c *Capture) Offset() (done, total int64) { return c.done.Load(), 0 }

// Size returns 0: it is not known.
func (c *Capture) Size() int64 { return 0 }

// Stats returns what was counted so far, for each ring of each interface. It may
// be called at any time, by any goroutine, also after Close.
func (c *Capture) Stats() []Stats {
	all := make([]Stats, len(c.rings))
	for i, r := range c.rings {
		all[i] = r.readStats()
	}
	return all
}

// Stop ends the capture: Next delivers what was captured until now and returns
// io.EOF. It wakes up a Next that waits; context.AfterFunc(ctx, c.Stop) ends it
// with a context.
func (c *Capture) Stop() {
	c.stop.Lock()
	defer c.stop.Unlock()
	if c.wakeUp >= 0 {
		one := native.AppendUint64(nil, 1)
		for {
			// It fails in another way only if nobody has read it 1<<64 times.
			if _, err := unix.Write(c.wakeUp, one); err != unix.EINTR {
				break
			}
		}
	}
}

// Close gives all back to the kernel, what was not delivered included. Batches stay
// valid, unless they are in place.
func (c *Capture) Close() error {
	c.stop.Lock()
	defer c.stop.Unlock()
	if c.state = ended; c.end == io.EOF {
		c.end = os.ErrClosed
	}
	for _, p := range c.ports {
		p.close()
	}
	if c.wakeUp >= 0 {
		_ = unix.Close(c.wakeUp) // it holds nothing
		c.wakeUp = -1
	}
	return nil
}
