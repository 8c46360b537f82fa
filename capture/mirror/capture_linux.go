// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// Capture is mirrored traffic as a capture.Preloader with one input. One goroutine at a time
// may call Next and Close, and one Reserve; any goroutine may call the other methods.
type Capture struct {
	conf     Config
	sockets  []*socket
	perKind  [][]*socket // by target
	table    *pointTable
	sections []capture.Section
	done     atomic.Int64

	mu       sync.Mutex // guards the fields below, and the fields that sockets name
	waiting  bool       // in poll, while sockets are claimed
	asked    bool       // a Next waits for packets
	stopping bool
	refused  bool // no socket takes more
	err      error

	wakeUp *sockets.Event // ends a wait
	polled []unix.PollFd
	which  []*socket // of polled
}

var _ capture.Preloader = (*Capture)(nil)

// Open opens the sockets of all targets. From then on datagrams wait there. The error is
// ErrNotPermitted for GRE without CAP_NET_RAW, and ErrInUse for a port that is taken.
func Open(conf Config) (*Capture, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCapture(&conf, newTable(conf.Targets, conf.SnapLen))
	if err != nil {
		return nil, err
	}
	for i := range conf.Targets {
		all, err := openSockets(&conf.Targets[i], i, &c.conf, c.table)
		if err != nil {
			_ = c.Close() // the first error is reported
			return nil, err
		}
		c.sockets, c.perKind[i] = append(c.sockets, all...), all
	}
	return c, nil
}

// OpenEach opens the same as Open, as a Capture for each socket. So several goroutines may
// read them, and merge packets by their times. Datagrams of an address and port come to the same
// socket, in their order.
func OpenEach(conf Config) ([]*Capture, error) {
	whole, err := Open(conf)
	if err != nil {
		return nil, err
	}
	var each []*Capture
	for _, s := range whole.sockets {
		c, err := newCapture(&whole.conf, whole.table)
		if err != nil {
			for _, open := range each {
				_ = open.Close() // nothing was read
			}
			return nil, errors.Join(err, whole.Close())
		}
		c.sockets, c.perKind[s.opener.number] = []*socket{s}, []*socket{s}
		each = append(each, c)
	}
	whole.sockets = nil // they belong to others now
	return each, whole.Close()
}

func newCapture(conf *Config, table *pointTable) (*Capture, error) {
	c := &Capture{
		conf: *conf, table: table, sections: []capture.Section{{Format: capture.FormatPcapNG}}, perKind: make([][]*socket, len(conf.Targets)),
	}
	var err error
	if c.wakeUp, err = sockets.NewEvent(); err != nil {
		return nil, err
	}
	return c, nil
}

// Start does nothing: datagrams have come since Open.
func (c *Capture) Start() error { return nil }

// lease is the reservation of a batch. It is the SourceState of the batch.
type lease struct {
	reserved bool
	socket   *socket // nil if there was nothing to read
	over     bool    // nothing is left to be read
	err      error
}

func leaseOf(b *capture.Batch) *lease {
	l, ok := b.SourceState.(*lease)
	if !ok {
		l = &lease{}
		b.SourceState = l
	}
	return l
}

// Reserve waits for a socket that has packets, and assigns it to the batch; see
// capture.Preloader.
func (c *Capture) Reserve(b *capture.Batch) {
	l := leaseOf(b)
	*l = lease{reserved: true}
	l.socket, l.over = c.claim()
}

// ReadReserved reads from the socket that was assigned.
func (c *Capture) ReadReserved(b *capture.Batch) {
	l := leaseOf(b)
	b.Reset()
	b.Interfaces, b.Sections = c.table.all(), c.sections
	if l.socket == nil {
		return
	}
	if l.socket.few {
		c.pause(l.socket.delay)
	}
	before := time.Now()
	more, err := l.socket.read(b)
	c.done.Add(int64(len(b.Buf)))
	l.err = err
	n, reached := len(b.Frames), before // at least, if nothing is left
	if more && n > 0 {
		reached = reachedBy(before, b.Frames[n-1].Time)
	}
	l.socket.few = n > 0 && n < fewPackets && l.socket.delay > 0
	c.release(l.socket, more || l.socket.few, reached, err)
}

// reachedBy returns when a packet of time last came, which a read that began at a time before has
// returned. The result follows the monotonic clock. By times of packets, a socket whose packets came
// before the clock of the host was set back would wait under load until that has caught up.
func reachedBy(before time.Time, last int64) time.Time {
	return before.Add(-max(0, before.Sub(time.Unix(0, last))))
}

// fewPackets is how many packets may wait for more, as in package xdp.
const fewPackets = batchPackets / 8

// pause lets packets gather, unless the capture is to end. The runtime waits for a timer without a
// thread in a system call, which it would look at every 20 µs for a while.
func (c *Capture) pause(delay time.Duration) {
	c.mu.Lock()
	stopping := c.stopping
	c.mu.Unlock()
	if !stopping {
		time.Sleep(delay)
	}
}

// Next returns the packets that were read, as capture.Source specifies. A batch without
// packets means that Config.Idle or Config.Delay has passed, or that no datagram had a packet that
// is wanted.
// After Stop, Next delivers the packets that had come, then io.EOF.
func (c *Capture) Next(b *capture.Batch) error {
	l := leaseOf(b)
	if !l.reserved {
		c.Reserve(b)
		c.ReadReserved(b)
	}
	l.reserved = false
	b.Interfaces = c.table.all() // none fewer than a batch before had
	switch {
	case len(b.Frames) > 0:
		return nil
	case l.err != nil:
		return l.err
	case l.over:
		b.Reset()
		return c.outcome()
	}
	return nil
}

// outcome returns the final error of Next.
func (c *Capture) outcome() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	return io.EOF
}

// claim waits for a socket that may have packets, at most Config.Idle. It reports that
// nothing is left to be read.
func (c *Capture) claim() (s *socket, over bool) {
	var idle time.Time
	wait := c.conf.Idle
	if c.conf.IdleNow != nil {
		wait = c.conf.IdleNow()
	}
	if wait > 0 {
		idle = time.Now().Add(wait)
	}
	for {
		c.mu.Lock()
		c.drain()
		s, left := c.pick()
		over := c.refused && !left
		if c.asked = s == nil && !over; c.asked {
			c.watch()
		}
		c.mu.Unlock()
		if s != nil || over {
			return s, over
		}
		timeout := -1
		if !idle.IsZero() {
			rest := time.Until(idle)
			if rest <= 0 {
				c.mu.Lock()
				c.asked = false
				c.mu.Unlock()
				return nil, false
			}
			timeout = int((rest + time.Millisecond - 1) / time.Millisecond)
		}
		if err := c.poll(timeout); err != nil {
			c.mu.Lock()
			c.fail(err)
			c.mu.Unlock()
		}
	}
}

// pick takes the socket that is furthest behind, among ready sockets that nobody reads. It
// reports whether any socket is still to be read.
func (c *Capture) pick() (found *socket, left bool) {
	for _, s := range c.sockets {
		if s.ready && !s.claimed && !s.drained && (found == nil || s.reached.Before(found.reached)) {
			found = s
		}
		left = left || s.claimed || !s.drained
	}
	if found != nil {
		found.claimed, found.ready = true, false
	}
	return found, left
}

// drain lets no more packets in after Stop, and reads every socket once more.
func (c *Capture) drain() {
	if !c.stopping || c.refused {
		return
	}
	c.refused = true
	for _, s := range c.sockets {
		if err := s.refuse(); err != nil {
			c.fail(err)
		}
		s.ready = true
	}
}

// fail ends the capture.
func (c *Capture) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.stopping, c.refused = true, true
	for _, s := range c.sockets {
		s.drained = true
	}
}

// release gives a socket back.
func (c *Capture) release(s *socket, more bool, reached time.Time, err error) {
	c.mu.Lock()
	s.claimed, s.reached = false, reached
	s.ready = s.ready || more
	if c.refused && !s.ready {
		s.drained = true
	}
	if err != nil {
		c.fail(err)
	}
	kick := c.waiting
	c.mu.Unlock()
	if kick {
		c.wakeUp.Set()
	}
}

// watch prepares to wait for all sockets that nobody reads. The caller holds c.mu.
func (c *Capture) watch() {
	c.polled, c.which = append(c.polled[:0], unix.PollFd{Fd: c.wakeUp.Socket(), Events: unix.POLLIN}), c.which[:0]
	c.waiting = false
	for _, s := range c.sockets {
		if s.claimed {
			c.waiting = true
			continue
		}
		c.polled, c.which = append(c.polled, unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}), append(c.which, s)
	}
}

// poll waits for the sockets that watch has prepared, at most timeout milliseconds.
func (c *Capture) poll(timeout int) error {
	_, err := unix.Poll(c.polled, timeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.asked = false, false
	if err != nil {
		if err == unix.EINTR {
			return nil
		}
		return os.NewSyscallError("poll", err)
	}
	if c.polled[0].Revents != 0 {
		c.wakeUp.Clear()
	}
	for i, s := range c.which {
		if c.polled[i+1].Revents != 0 {
			s.ready = true
		}
	}
	return nil
}

// Inputs returns a single name: the names of the targets, separated by commas.
func (c *Capture) Inputs() []string {
	var names []string
	for i := range c.conf.Targets {
		names = append(names, c.conf.Targets[i].name)
	}
	return []string{strings.Join(names, ",")}
}

// Offset returns how many bytes of records were read. There is no total.
func (c *Capture) Offset() (done, total int64) { return c.done.Load(), 0 }

// Size returns 0: it is not known.
func (c *Capture) Size() int64 { return 0 }

// Stats returns the counts of each target. Any goroutine may call it at any time, also after
// Close.
func (c *Capture) Stats() []Stats {
	all := make([]Stats, len(c.perKind))
	for i, sockets := range c.perKind {
		t := &all[i]
		t.Malformed, t.Points = map[string]uint64{}, c.table.count(i)
		for _, s := range sockets {
			t.Sockets = append(t.Sockets, s.stats())
			n := &s.opener.counts
			for r := range n.malformed {
				t.Malformed[reasonNames[r]] += n.malformed[r].Load()
			}
			t.Control += n.control.Load()
			t.Unwanted += n.unwanted.Load()
		}
	}
	return all
}

// Stop ends the capture: Next delivers packets received until now and then returns io.EOF.
// Stop wakes a Next that waits.
func (c *Capture) Stop() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.wakeUp.Set()
}

// Close closes the sockets, and drops packets that Next has not delivered. Batches stay valid.
func (c *Capture) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(os.ErrClosed)
	for _, s := range c.sockets {
		s.close()
	}
	c.wakeUp.Close()
	return nil
}
