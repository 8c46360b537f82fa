package xdp

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// Capture is live traffic as a capture.Source with one input, as ring.Capture is. One
// goroutine at a time may call Next and Close; any goroutine may call the other methods.
type Capture struct {
	conf   Config
	ports  []*port
	tables capture.Batch // the interfaces and sections of all batches

	state   state
	end     error     // what Next returns at last
	until   time.Time // deadline for draining
	checked time.Time // when interfaces that are down were last looked up
	turn    int       // the queue that is read next
	polled  []unix.PollFd
	done    atomic.Int64

	list   sync.Mutex // guards queues against Stats
	queues []*queue   // of all ports

	stop *sockets.Event // ends a wait
}

// state is the stage that a capture has reached.
type state uint8

const (
	fresh    state = iota // Next has delivered nothing yet
	running               // packets come
	draining              // the kernel adds no more; Next delivers what waits
	drained               // only the statistics are left
	ended
)

// Open starts to capture. With Config.StartPaused it only prepares, and Capture.Start
// starts; until then the host gets all packets. Config.RingBytes of memory is locked for
// each receive queue.
//
// The error is ErrUnfit for an interface that is not an Ethernet interface, ErrInUse for
// one that the host uses, unless Config.Take is set, and ring.ErrNoInterface and
// ring.ErrDown as ring.Open has them.
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

func (c *Capture) open() (err error) {
	for _, name := range c.conf.Interfaces {
		p := &port{conf: &c.conf, guard: -1}
		if c.conf.Filter != nil {
			if p.filter, err = bpf.NewMachine(c.conf.Filter); err != nil {
				return err
			}
		}
		if p.dev, err = lookUp(name); err != nil {
			return err
		}
		p.number = c.tables.AppendInterface(capture.Interface{Name: name, LinkType: capture.LinkEthernet, SnapLen: uint32(c.conf.SnapLen)})
		c.ports = append(c.ports, p)
		p.queues = append(p.queues, p.newQueue(0))
		if err := c.openPort(p); err != nil {
			return err
		}
	}
	c.listQueues()
	if c.conf.StartPaused {
		return nil
	}
	return c.Start()
}

// openPort opens an interface. With Config.Wait it accepts that the interface is down.
func (c *Capture) openPort(p *port) error {
	if p.dev.Flags&net.FlagUp != 0 {
		return p.open()
	}
	if !c.conf.Wait {
		return fmt.Errorf("%s: %w: ip link set %s up", p.dev.Name, ring.ErrDown, p.dev.Name)
	}
	p.setDown(true)
	return nil
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

// Next returns packets of the queues, as capture.Source specifies. Packets of one queue
// stay in order. The first batch comes at once: it holds the headers of the section and no
// packet. A later batch without packets means that Config.Idle has passed.
//
// The capture ends as that of package ring does: after Stop, and with ring.ErrDown or
// ring.ErrRemoved without Config.Wait.
func (c *Capture) Next(b *capture.Batch) error {
	b.Reset()
	b.Interfaces, b.Sections = c.tables.Interfaces, c.tables.Sections
	switch c.state {
	case fresh:
		c.state = running
		b.Buf = append(b.Buf, c.tables.Buf...)
		b.Blocks = append(b.Blocks, c.tables.Blocks...)
		return nil
	case ended:
		return c.end
	}
	var idle time.Time
	if c.conf.Idle > 0 {
		idle = time.Now().Add(c.conf.Idle)
	}
	c.poll(0) // while packets keep coming, nothing below polls
	c.gather()
	for {
		c.fill(b)
		if len(b.Frames) > 0 {
			return nil
		}
		if c.state == draining && time.Now().After(c.until) {
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

// fill appends packets of all queues in turn.
func (c *Capture) fill(b *capture.Batch) {
	now := readClock()
	for range c.queues {
		c.turn = (c.turn + 1) % len(c.queues)
		q := c.queues[c.turn]
		if q.waiting() == 0 {
			continue
		}
		if err := q.take(b, now); err != nil {
			c.state, c.end = drained, err
			break
		}
		if full(b) {
			break
		}
	}
	c.done.Add(int64(len(b.Buf)))
	for _, p := range c.ports {
		p.warnLostTags()
	}
}

// readClock reads the clocks. They are whole seconds apart (linux/timex.h).
func readClock() clock {
	var ahead unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_TAI, &ahead); err != nil {
		return clock{now: time.Now().UnixNano()} // a kernel without that clock makes no stamps
	}
	now := time.Now().UnixNano()
	const second = int64(time.Second)
	return clock{now: now, tai: (ahead.Nano() - now + second/2) / second * second}
}

// appendStatistics appends the statistics of every interface.
func (c *Capture) appendStatistics(b *capture.Batch) {
	now := time.Now().UnixNano()
	for _, p := range c.ports {
		var received, dropped uint64
		for _, q := range p.queues {
			s := q.readStats()
			received += s.Received
			dropped += s.Dropped
		}
		at := len(b.Buf)
		b.Buf = capture.AppendStatistics(b.Buf, p.number, now, received, dropped)
		b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockStatistics, Offset: uint32(at), Len: uint32(len(b.Buf) - at)})
	}
	for _, p := range c.ports {
		if c.end != io.EOF && p.down && !c.conf.Wait {
			c.end = p.downReason() // only now is it known whether it was removed
			break
		}
	}
}

// drain leaves packets to the host again. After all that were captured are delivered, Next
// returns end.
func (c *Capture) drain(end error) {
	if c.state >= draining {
		return
	}
	c.state, c.end, c.until = draining, end, time.Now().Add(drainTime)
	for _, p := range c.ports {
		p.stop()
	}
}

// listQueues notes the queues of all ports, which change when a port is opened.
func (c *Capture) listQueues() {
	var all []*queue
	for _, p := range c.ports {
		all = append(all, p.queues...)
	}
	c.list.Lock()
	defer c.list.Unlock()
	c.queues = all
}

// Inputs returns one name: those of the interfaces, separated by commas.
func (c *Capture) Inputs() []string { return []string{strings.Join(c.conf.Interfaces, ",")} }

// Offset returns how many bytes were delivered. There is no total.
func (c *Capture) Offset() (done, total int64) { return c.done.Load(), 0 }

// Size returns 0: it is not known.
func (c *Capture) Size() int64 { return 0 }

// Stats returns the counts of each queue of each interface, as those of a ring. There are
// more of them after an interface was removed and came back with more queues. Freezes
// counts how often no memory was free for a packet. Any goroutine may call it at any time,
// also after Close.
func (c *Capture) Stats() []ring.Stats {
	c.list.Lock()
	defer c.list.Unlock()
	all := make([]ring.Stats, len(c.queues))
	for i, q := range c.queues {
		all[i] = q.readStats()
	}
	return all
}

// Stop ends the capture: Next delivers what was captured until now and then returns
// io.EOF. Stop wakes a Next that waits.
func (c *Capture) Stop() { c.stop.Set() }

// Close releases the sockets and drops what Next has not delivered. Batches stay valid.
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
