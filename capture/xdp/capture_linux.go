// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// Capture is live traffic as a capture.Source with one input, as afpacket.Capture is. It ends
// as that does: after Stop, and with afpacket.ErrDown or afpacket.ErrRemoved without Config.Wait.
// Packets of one queue stay in order. One goroutine at a time may call Start, Next and
// Close; any goroutine may call the other methods.
type Capture struct {
	*sockets.Capture
	conf  Config
	ports []*port
	turn  int // the queue that is read next

	asked    time.Time // when delay was called
	received uint32    // packets by then

	list   sync.Mutex // guards queues against Stats
	queues []*queue   // of all ports
}

// drainTime bounds how long Next takes the last packets from sockets.
const drainTime = 200 * time.Millisecond

// Open starts to capture. With Config.StartPaused it only prepares, and Capture.Start
// starts; until then the host gets all packets. Config.RingBytes of memory is locked for
// each receive queue.
//
// The error is ErrUnfit for an interface that is not an Ethernet interface, ErrInUse for an
// interface that the host uses, unless Config.Take is set, and afpacket.ErrNoInterface and
// afpacket.ErrDown as afpacket.Open has them.
func Open(conf Config) (*Capture, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Capture{conf: conf}
	c.Capture, err = sockets.New(sockets.Config{
		Wait: conf.Wait, Idle: conf.Idle, IdleNow: conf.IdleNow, DrainTime: drainTime, Fill: c.fill, Delay: c.delay,
	})
	if err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		_ = c.Close() // Open reports the first error
		return nil, err
	}
	return c, nil
}

func (c *Capture) open() (err error) {
	for i, name := range c.conf.Interfaces {
		p := &port{conf: &c.conf, guard: -1, opened: c.listQueues}
		p.Number = uint32(i)
		if c.conf.Filter != nil {
			if p.filter, err = bpf.NewMachine(c.conf.Filter); err != nil {
				return err
			}
		}
		if p.Device, err = expect(name, c.conf.Wait); err != nil {
			return err
		}
		c.ports = append(c.ports, p)
		p.addQueue()
		c.listQueues()
		if err := c.Add(p, c.conf.SnapLen); err != nil {
			return err
		}
	}
	if c.conf.StartPaused {
		return nil
	}
	return c.Start()
}

// delay returns the poll delay of the queues: see gatherTime.
func (c *Capture) delay() time.Duration {
	waiting, received, memory := 0, uint32(0), 0
	for _, q := range c.queues {
		if q.socket != nil {
			waiting += q.waiting()
			received += q.socket.received()
			memory = q.socket.frames()
		}
	}
	now := time.Now()
	arrived, passed := received-c.received, now.Sub(c.asked)
	c.received, c.asked = received, now
	return gatherTime(c.conf.Delay, waiting, memory, arrived, passed)
}

// gatherTime returns the poll delay, at most most. It is 0 when a batch is 1/8 full,
// as a larger batch costs little less per packet, or when the queue is empty, as the kernel
// then reports the next packet. At a rate that would soon fill the memory of a queue, packets
// gather even in an empty queue, as a report of the kernel costs time. The delay is then 1/64
// of the time to fill the memory: a run may wake some milliseconds late and would lose
// packets. memory is in packets.
func gatherTime(most time.Duration, waiting, memory int, arrived uint32, passed time.Duration) time.Duration {
	const ample, part = 16, 64
	fills := float64(passed) * float64(memory) / float64(max(arrived, 1))
	switch {
	case waiting >= batchPackets/8:
		return 0
	case fills < ample*float64(most):
		return min(most, time.Duration(fills/part))
	case waiting == 0:
		return 0
	default:
		return most
	}
}

// fill appends packets of all queues in turn, and returns how many bytes these take.
func (c *Capture) fill(b *capture.Batch) (_ int, err error) {
	now := readClock()
	for range c.queues {
		c.turn = (c.turn + 1) % len(c.queues)
		q := c.queues[c.turn]
		if q.waiting() == 0 {
			continue
		}
		if err = q.take(b, now); err != nil || full(b) {
			break
		}
	}
	for _, p := range c.ports {
		p.warnLostTags()
	}
	return len(b.Buf), err
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

// Start lets packets in after Config.StartPaused, before the first Next.
func (c *Capture) Start() error { return c.Capture.Start() }

// Stop ends the capture: Next delivers the packets that were captured until now, and then returns
// io.EOF. It wakes a Next that waits. Any goroutine may call it, as context.AfterFunc(ctx, c.Stop)
// does.
func (c *Capture) Stop() { c.Capture.Stop() }

// Stats returns the counts of each queue of each interface, as for a ring. There are more of
// them after an interface has got more queues. Freezes counts how often
// no memory was free for a packet. Any goroutine may call it at any time, also after Close.
func (c *Capture) Stats() []afpacket.Stats {
	c.list.Lock()
	defer c.list.Unlock()
	all := make([]afpacket.Stats, len(c.queues))
	for i, q := range c.queues {
		all[i] = q.readStats()
	}
	return all
}
