package ring

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// checkEvery is how often an interface that is out is looked for.
	checkEvery = 200 * time.Millisecond
	// drainEvery is how often rings are looked at that may be empty already, of
	// which poll says nothing.
	drainEvery = 5 * time.Millisecond
)

// wait returns true when there may be something to do, and false when idle, if it
// is set, has passed.
func (c *Capture) wait(idle time.Time) bool {
	now := time.Now()
	if !idle.IsZero() && !now.Before(idle) {
		return false
	}
	wake := idle
	if c.state == draining {
		wake = earlier(wake, now.Add(drainEvery))
	}
	if c.anyDown() {
		wake = earlier(wake, now.Add(checkEvery))
	}
	c.poll(milliseconds(now, wake))
	return true
}

// poll sees whether the capture was stopped and an interface has gone, and waits for
// packets, up to so many milliseconds.
func (c *Capture) poll(timeout int) {
	_, err := unix.Poll(c.pollSet(), timeout)
	if err != nil && err != unix.EINTR {
		c.drain(os.NewSyscallError("poll", err))
		return
	}
	c.react()
}

// pollSet is the event, once it does not tell what is known already, and every
// ring; poll passes over those that are closed.
func (c *Capture) pollSet() []unix.PollFd {
	event := int32(c.wakeUp)
	if c.state == draining {
		event = -1
	}
	c.polled = append(c.polled[:0], unix.PollFd{Fd: event, Events: unix.POLLIN})
	for _, r := range c.rings {
		c.polled = append(c.polled, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	return c.polled
}

// react deals with what poll has found beside packets.
func (c *Capture) react() {
	if c.polled[0].Revents&unix.POLLIN != 0 {
		c.drain(io.EOF)
	}
	for i := range c.rings {
		if c.polled[1+i].Revents&unix.POLLERR != 0 {
			c.checkSocket(c.ports[i/c.conf.Rings], c.rings[i].fd)
		}
	}
	if now := time.Now(); c.state == running && c.anyDown() && now.Sub(c.checked) >= checkEvery {
		c.checked = now
		c.resume()
	}
}

// checkSocket asks the socket what has happened to its interface.
func (c *Capture) checkSocket(p *port, fd int) {
	err := socketError(fd)
	if err == nil {
		return
	}
	p.interfaceDown()
	if err != unix.ENETDOWN {
		c.drain(kernelError(p.dev.name, "poll", err))
	} else if !c.conf.Wait {
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

// resumeReady looks at interfaces that are out and have packets, before these are delivered:
// they may be of another link type.
func (c *Capture) resumeReady() {
	for _, p := range c.ports {
		if c.state == running && p.down && p.ready() {
			c.resume()
		}
	}
}

// resume takes up the interfaces that are back.
func (c *Capture) resume() {
	for _, p := range c.ports {
		if !p.down {
			continue
		}
		if err := p.resume(); err != nil {
			c.drain(err)
		}
	}
}

// earlier returns the first of two times, of which a may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// milliseconds returns how long poll may take, -1 if it needs not return.
func milliseconds(now, wake time.Time) int {
	if wake.IsZero() {
		return -1
	}
	return int((wake.Sub(now) + time.Millisecond - 1) / time.Millisecond)
}
