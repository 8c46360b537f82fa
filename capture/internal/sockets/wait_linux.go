// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// checkEvery is how often an interface that is down is looked up.
	checkEvery = 200 * time.Millisecond
	// drainEvery is how often sockets are looked at that may be empty already: poll does not
	// report empty sockets.
	drainEvery = 5 * time.Millisecond
)

// gather lets few packets become more.
func (c *Capture) gather() {
	if c.conf.Delay == nil || c.state != running {
		return
	}
	delay := c.conf.Delay()
	if delay <= 0 {
		return
	}
	timeout := unix.NsecToTimespec(int64(delay))
	// The next poll returns the same events and errors.
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: c.stop.Socket(), Events: unix.POLLIN}}, &timeout, nil)
}

// wait returns true when there may be something to do, and false when the time idle, if
// set, has passed, or Wake was called.
func (c *Capture) wait(idle time.Time) bool {
	now := time.Now()
	if !idle.IsZero() && !now.Before(idle) {
		return false
	}
	wake := idle
	if c.state == draining || c.following {
		wake = earlier(wake, now.Add(drainEvery))
	}
	if c.anyDown() {
		wake = earlier(wake, now.Add(checkEvery))
	}
	c.sleeper.sleep(wake, func() bool { return c.woken.Load() || c.stopUnnoticed() || c.changed.Load() })
	c.react()
	if c.woken.Swap(false) {
		return false
	}
	c.gather()
	return true
}

// stopUnnoticed reports whether Stop was called while packets are still taken in.
func (c *Capture) stopUnnoticed() bool { return c.stopped.Load() && c.state < draining }

// earlier returns the earlier of two times; a zero a counts as none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// poll notices a Stop, and interfaces that went away or are back. It also wakes drivers that
// ask for it (XDP_RING_NEED_WAKEUP), as memory is free again.
func (c *Capture) poll() {
	c.hasWork()
	c.react()
}

// hasWork reports whether there is something to do. It hides this system call, which does not
// wait, from the runtime: the runtime would watch the thread for a while, which takes longer
// than the call.
func (c *Capture) hasWork() bool {
	set, now := c.pollSet(), unix.Timespec{}
	n, _, err := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&set[0])), uintptr(len(set)),
		uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	if err != 0 && err != unix.EINTR {
		c.drain(os.NewSyscallError("poll", err))
		return true
	}
	return err != 0 || n != 0 && c.awaited()
}

// awaited reports whether poll has found a Stop, an error, or packets that can be read. A
// packet socket also reports packets while a batch holds the last ring block.
func (c *Capture) awaited() bool {
	for i := range c.polled {
		if found := c.polled[i].Revents; found&^unix.POLLIN != 0 || found != 0 && i == 0 {
			return true
		}
	}
	return slices.ContainsFunc(c.ports, Port.Waiting)
}

// pollSet returns the event and the sockets of all ports. It leaves the event out once
// Stop was noticed. poll skips closed sockets.
func (c *Capture) pollSet() []unix.PollFd {
	event := c.stop.Socket()
	if c.state == draining {
		event = -1
	}
	c.polled = append(c.polled[:0], unix.PollFd{Fd: event, Events: unix.POLLIN})
	for _, p := range c.ports {
		c.polled = p.Sockets(c.polled)
	}
	return c.polled
}

// react handles events of poll other than packets.
func (c *Capture) react() {
	if c.stopUnnoticed() {
		c.drain(io.EOF)
	}
	for i := range c.polled {
		if s := &c.polled[i]; s.Revents&unix.POLLERR != 0 {
			c.checkSocket(c.portOf(i), int(s.Fd))
		}
	}
	if c.changed.Swap(false) || c.following {
		c.following = c.follow()
	}
	if now := time.Now(); c.state == running && c.anyDown() && now.Sub(c.checked) >= checkEvery {
		c.checked = now
		c.resumeAll()
	}
}

// portOf returns the port of a place in the list of pollSet.
func (c *Capture) portOf(place int) Port {
	end := 1
	for _, p := range c.ports {
		if end += len(p.Sockets(nil)); place < end {
			return p
		}
	}
	return nil // not reached: the event has no errors
}

// checkSocket asks a socket for the state of its interface: the pending error is ENETDOWN,
// once, after that went down or away.
func (c *Capture) checkSocket(p Port, fd int) {
	number, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && number == 0 {
		return
	}
	if err == nil {
		err = unix.Errno(number)
	}
	p.At().setDown(true)
	if err != unix.ENETDOWN {
		c.drain(fmt.Errorf("%s: %w", p.At().Name, os.NewSyscallError("poll", err)))
	} else if !c.conf.Wait {
		c.drain(c.downReason(p))
	}
}

func (c *Capture) anyDown() bool {
	for _, p := range c.ports {
		if isDown(p) {
			return true
		}
	}
	return false
}

// resumeReady resumes the interfaces that are marked down but have packets. It runs
// before these packets are delivered, since they may have another link type.
func (c *Capture) resumeReady() {
	for _, p := range c.ports {
		if c.state == running && isDown(p) && p.Waiting() {
			c.resumeAll()
		}
	}
}

// resumeAll tries to resume every interface that is down.
func (c *Capture) resumeAll() {
	for _, p := range c.ports {
		if !isDown(p) {
			continue
		}
		if err := c.resume(p); err != nil {
			c.drain(err)
		}
	}
}
