// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// Config says how a Capture waits.
type Config struct {
	// Wait continues the capture while an interface is down or removed, and captures again once that
	// interface or a new one of its name is up: see Current. Without Wait, either event ends the
	// capture.
	Wait bool
	// Idle is how long Next waits for packets before it returns without any; 0 means
	// forever.
	Idle time.Duration
	// IdleNow, if not nil, returns Idle anew for each Next.
	IdleNow func() time.Duration
	// DrainTime bounds how long the kernel may take to hand over its last packets.
	DrainTime time.Duration
	// Fill appends packets that wait to a batch, and returns how many bytes that makes. An
	// error ends the capture, after the packets before it.
	Fill func(b *capture.Batch) (int, error)
	// Delay returns how long Next lets the packets that wait become more. nil stands for no time.
	Delay func() time.Duration
}

// Capture is live traffic as a capture.Source with one input: a pcapng section with an
// interface for each port, that ends with their statistics. One goroutine at a time may
// call Add, Start, Next and Close; any goroutine may call the other methods.
type Capture struct {
	conf   Config
	ports  []Port
	tables capture.Batch // the interfaces and sections of all batches

	state   state
	end     error     // the final error of Next
	until   time.Time // deadline for draining
	checked time.Time // when interfaces that are down were last looked up
	polled  []unix.PollFd
	done    atomic.Int64

	watch     *watcher
	changed   atomic.Bool // the watcher has seen something
	following bool        // a port waits for its packets to be read

	stopped atomic.Bool // Stop was called
	woken   atomic.Bool // Wake was called
	stop    *Event      // ends a wait for more packets
	sleeper *sleeper
}

// state is the stage that a capture has reached.
type state uint8

const (
	fresh    state = iota // Next has delivered nothing yet
	running               // packets come
	draining              // the kernel adds no more; Next delivers waiting packets
	drained               // only the statistics are left
	ended
)

// New returns a capture from no interface. The caller must call Close.
func New(conf Config) (*Capture, error) {
	stop, err := NewEvent()
	if err != nil {
		return nil, err
	}
	c := &Capture{conf: conf, end: io.EOF, stop: stop}
	if c.sleeper, err = newSleeper(c.hasWork); err != nil {
		stop.Close()
		return nil, err
	}
	if err = c.sleeper.add(stop.Socket()); err == nil {
		c.watch, err = newWatcher(c)
	}
	if err != nil {
		_ = c.Close() // the first error is the one to report
		return nil, err
	}
	return c, nil
}

// Add opens a port, whose device is known. With Config.Wait the interface may be down. Packets are
// cut to snapLen bytes.
func (c *Capture) Add(p Port, snapLen int) error {
	i := p.At()
	i.index = i.Index
	i.Number = c.tables.AppendInterface(capture.Interface{Name: i.Name, LinkType: i.Link, SnapLen: uint32(snapLen)})
	c.ports = append(c.ports, p)
	switch {
	case i.Up:
		return c.open(p)
	case !c.conf.Wait:
		return fmt.Errorf("%s: %w: ip link set %s up", i.Name, ErrDown, i.Name)
	}
	i.beginDown()
	return nil
}

// open opens the sockets of a port.
func (c *Capture) open(p Port) error {
	if err := p.Open(); err != nil {
		return err
	}
	return c.listen(p)
}

// listen waits for the sockets of a port, too.
func (c *Capture) listen(p Port) error {
	for _, s := range p.Sockets(nil) {
		if err := c.sleeper.add(s.Fd); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// Start lets packets in, before the first Next.
func (c *Capture) Start() error {
	c.watch.start()
	for _, p := range c.ports {
		if isDown(p) {
			continue
		}
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Next returns packets, as capture.Source specifies. The first batch comes at once: it
// holds the headers of the section and no packet. A later batch without packets means that
// Config.Idle has passed.
//
// After Stop, Next delivers everything that was captured, then the statistics, then
// io.EOF. An interface that goes down or away ends the capture in the same way, but with
// ErrDown or ErrRemoved.
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
	if c.conf.IdleNow != nil {
		c.conf.Idle = c.conf.IdleNow()
	}
	var idle time.Time
	if c.conf.Idle > 0 {
		idle = time.Now().Add(c.conf.Idle)
	}
	c.poll() // while packets keep coming, nothing below polls
	c.gather()
	for {
		c.resumeReady()
		bytes, err := c.conf.Fill(b)
		if c.done.Add(int64(bytes)); err != nil {
			c.state, c.end = drained, err
		}
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

// Behind implements capture.LiveSource. Packets that do not come from sockets wait, too.
func (c *Capture) Behind() bool {
	return c.state != running || slices.ContainsFunc(c.ports, Port.Behind)
}

// appendStatistics appends the statistics of every interface.
func (c *Capture) appendStatistics(b *capture.Batch) {
	c.watch.look(lastCounts)
	defer c.watch.close() // what comes now is not of this capture
	now := time.Now().UnixNano()
	for _, p := range c.ports {
		received, dropped := p.Counts()
		at := len(b.Buf)
		b.Buf = capture.AppendStatistics(b.Buf, p.At().Number, now, received, dropped)
		b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockStatistics, Offset: uint32(at), Len: uint32(len(b.Buf) - at)})
	}
	for _, p := range c.ports {
		if c.end != io.EOF && isDown(p) && !c.conf.Wait {
			c.end = c.downReason(p) // only now is it known whether it was removed
			break
		}
	}
}

func (c *Capture) allDrained() bool {
	for _, p := range c.ports {
		if !p.Drained() {
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
	c.until = time.Now().Add(c.conf.DrainTime)
	for _, p := range c.ports {
		p.Stop()
	}
}

// Inputs returns one name: the names of the interfaces, separated by commas.
func (c *Capture) Inputs() []string {
	var names []string
	for i := range c.tables.Interfaces {
		names = append(names, c.tables.Interfaces[i].Name)
	}
	return []string{strings.Join(names, ",")}
}

// Offset returns how many bytes of records were delivered. For packets that stay where the
// kernel has put them it is an estimate. There is no total.
func (c *Capture) Offset() (done, total int64) { return c.done.Load(), 0 }

// Size returns 0: it is not known.
func (c *Capture) Size() int64 { return 0 }

// Stop ends the capture: Next delivers packets captured until now and then returns io.EOF.
// Stop wakes a Next that waits. context.AfterFunc(ctx, c.Stop) ties the capture to a context.
func (c *Capture) Stop() {
	c.stopped.Store(true)
	c.stop.Set()
	c.sleeper.wake() // also where the event cannot be set
}

// Wake has a Next that waits return as if Config.Idle had passed. Any goroutine may call it.
func (c *Capture) Wake() {
	c.woken.Store(true)
	c.sleeper.wake()
}

// Close releases the sockets and drops packets that Next has not delivered. Batches stay
// valid, unless their packets stay where the kernel has put them.
func (c *Capture) Close() error {
	if c.state = ended; c.end == io.EOF {
		c.end = os.ErrClosed
	}
	if c.watch != nil {
		c.watch.close()
	}
	for _, p := range c.ports {
		p.Close()
	}
	c.stop.Close()
	c.sleeper.close()
	return nil
}
