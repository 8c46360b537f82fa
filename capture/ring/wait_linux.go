package ring

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// drainEvery is how often draining looks at rings that may be empty already: poll does not
// report those.
const drainEvery = 5 * time.Millisecond

// wait returns true when there may be something to do, and false when the time idle, if
// set, has passed.
func (c *Capture) wait(idle time.Time) bool {
	now := time.Now()
	if !idle.IsZero() && !now.Before(idle) {
		return false
	}
	wake := idle
	if c.state == draining {
		wake = sockets.Earlier(wake, now.Add(drainEvery))
	}
	if c.anyDown() {
		wake = sockets.Earlier(wake, now.Add(sockets.CheckEvery))
	}
	c.poll(sockets.Milliseconds(now, wake))
	return true
}

// poll waits for packets, at most timeout milliseconds, and notices a Stop and interfaces
// that went away.
func (c *Capture) poll(timeout int) {
	_, err := unix.Poll(c.pollSet(), timeout)
	if err != nil && err != unix.EINTR {
		c.drain(os.NewSyscallError("poll", err))
		return
	}
	c.react()
}

// pollSet returns the eventfd and the sockets of all rings. It leaves the eventfd out
// once Stop was noticed. poll skips closed sockets.
func (c *Capture) pollSet() []unix.PollFd {
	event := c.stop.FD()
	if c.state == draining {
		event = -1
	}
	c.polled = append(c.polled[:0], unix.PollFd{Fd: event, Events: unix.POLLIN})
	for _, r := range c.rings {
		c.polled = append(c.polled, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	return c.polled
}

// react handles what poll has reported besides packets.
func (c *Capture) react() {
	if c.polled[0].Revents&unix.POLLIN != 0 {
		c.drain(io.EOF)
	}
	for i := range c.rings {
		if c.polled[1+i].Revents&unix.POLLERR != 0 {
			c.checkSocket(c.ports[i/c.conf.Rings], c.rings[i].fd)
		}
	}
	if now := time.Now(); c.state == running && c.anyDown() && now.Sub(c.checked) >= sockets.CheckEvery {
		c.checked = now
		c.resume()
	}
}

// checkSocket asks a socket what happened to its interface.
func (c *Capture) checkSocket(p *port, fd int) {
	err := sockets.Failure(fd)
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

// resumeReady resumes the interfaces that are marked down but have packets. It runs
// before these packets are delivered, since they may have another link type.
func (c *Capture) resumeReady() {
	for _, p := range c.ports {
		if c.state == running && p.down && p.ready() {
			c.resume()
		}
	}
}

// resume tries to resume every interface that is down.
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
