package xdp

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

const (
	// drainTime is how long packets may take from the program to a socket after the
	// program was detached.
	drainTime = 10 * time.Millisecond
	// fewPackets is what Next does not yet return within Config.Delay: an eighth of a
	// batch, which costs little more for each packet than a whole one.
	fewPackets = batchPackets / 8
)

// gather lets few packets become more.
func (c *Capture) gather() {
	if c.conf.Delay <= 0 || c.state != running {
		return
	}
	n := 0
	for _, q := range c.queues {
		n += q.waiting()
	}
	if n == 0 || n >= fewPackets {
		return
	}
	timeout := unix.NsecToTimespec(int64(c.conf.Delay))
	// What it finds or fails with, the next poll does too.
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: c.stop.FD(), Events: unix.POLLIN}}, &timeout, nil)
}

// wait returns true when there may be something to do, and false when the time idle, if
// set, has passed.
func (c *Capture) wait(idle time.Time) bool {
	now := time.Now()
	if !idle.IsZero() && !now.Before(idle) {
		return false
	}
	wake := idle
	if c.state == draining {
		wake = sockets.Earlier(wake, c.until)
	}
	if c.anyDown() {
		wake = sockets.Earlier(wake, now.Add(sockets.CheckEvery))
	}
	c.poll(sockets.Milliseconds(now, wake))
	c.gather()
	return true
}

// poll waits for packets, at most timeout milliseconds, and notices a Stop and interfaces
// that went away. It also tells drivers that ask for it (XDP_RING_NEED_WAKEUP) that memory
// is free again.
func (c *Capture) poll(timeout int) {
	_, err := unix.Poll(c.pollSet(), timeout)
	if err != nil && err != unix.EINTR {
		c.drain(os.NewSyscallError("poll", err))
		return
	}
	c.react()
}

// pollSet returns the eventfd, then the guard and the sockets of each port. It leaves the
// eventfd out once Stop was noticed. poll skips closed sockets.
func (c *Capture) pollSet() []unix.PollFd {
	event := c.stop.FD()
	if c.state == draining {
		event = -1
	}
	c.polled = append(c.polled[:0], unix.PollFd{Fd: event, Events: unix.POLLIN})
	for _, p := range c.ports {
		c.polled = append(c.polled, unix.PollFd{Fd: int32(p.guard)})
		for _, q := range p.queues {
			fd := -1
			if q.socket != nil {
				fd = q.socket.fd
			}
			c.polled = append(c.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	return c.polled
}

// react handles what poll has reported besides packets.
func (c *Capture) react() {
	if c.polled[0].Revents&unix.POLLIN != 0 {
		c.drain(io.EOF)
	}
	at := 1
	for _, p := range c.ports {
		for range 1 + len(p.queues) {
			if c.polled[at].Revents&unix.POLLERR != 0 {
				c.checkSocket(p, int(c.polled[at].Fd))
			}
			at++
		}
	}
	if now := time.Now(); c.state == running && c.anyDown() && now.Sub(c.checked) >= sockets.CheckEvery {
		c.checked = now
		c.resume()
	}
}

// checkSocket asks a socket what happened to its interface.
func (c *Capture) checkSocket(p *port, fd int) {
	switch err := sockets.Failure(fd); err {
	case nil:
		return
	case unix.ENETDOWN:
	default:
		c.drain(fmt.Errorf("%s: %w", p.dev.Name, os.NewSyscallError("poll", err)))
		return
	}
	p.setDown(true)
	if !c.conf.Wait {
		c.drain(p.downReason())
	}
}

func (c *Capture) anyDown() bool {
	for _, p := range c.ports {
		if p.down {
			return true
		}
	}
	return false
}

// resume tries to resume every interface that is down.
func (c *Capture) resume() {
	for _, p := range c.ports {
		if !p.down || p.waiting() {
			continue // packets of before come first
		}
		if err := p.resume(); err != nil {
			c.drain(err)
		}
	}
	c.listQueues()
}
