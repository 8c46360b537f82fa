// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Port is an interface that is captured from, with its sockets. The goroutine that reads
// the capture calls its methods.
type Port interface {
	// At returns the interface. The Capture changes it.
	At() *Interface
	// LookUp looks for an interface of the port's name that can be captured from.
	LookUp() (Device, error)
	// Open opens the sockets. They let nothing in before Start. An error that is Final ends
	// the capture. After any other one, Open is called again.
	Open() error
	Final(err error) bool
	// Start lets packets in, Stop lets no more in.
	Start() error
	Stop()
	// Close closes the sockets, and drops their packets.
	Close()
	// Sockets appends the descriptors to poll, with -1 for closed sockets. The first one is a
	// packet socket that is bound to the interface.
	Sockets(set []unix.PollFd) []unix.PollFd
	// Waiting reports whether packets can be read.
	Waiting() bool
	// Behind reports whether more packets wait than one read takes.
	Behind() bool
	// Drained reports whether all packets were read. That is final only once no more come
	// in.
	Drained() bool
	// Counts returns how many packets came, including dropped ones.
	Counts() (received, dropped uint64)
}

// Interface is the interface that a Port captures from.
type Interface struct {
	Device
	Number uint32 // in batches

	since time.Time // when it went down

	mu      sync.Mutex // guards the fields below
	outages uint64
	down    bool
}

// Outages returns how often the interface went down or away, and whether it is so now. Any
// goroutine may call it.
func (i *Interface) Outages() (n uint64, down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.outages, i.down
}

// beginDown records that the interface is down from the start.
func (i *Interface) beginDown() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = true
}

// setDown records that the interface went down or away, or came back.
func (i *Interface) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if down && !i.down {
		i.outages, i.since = i.outages+1, time.Now()
	}
	i.down = down
}

func isDown(p Port) bool {
	_, down := p.At().Outages()
	return down
}

// firstSocket returns the packet socket that is bound to the interface, -1 while it is closed.
func firstSocket(p Port) int { return int(p.Sockets(nil)[0].Fd) }

// removed reports whether the interface that the sockets were bound to no longer exists.
// Such sockets never see packets again.
func removed(p Port) bool {
	index, ok := boundTo(firstSocket(p))
	return !ok || index != p.At().Index
}

// downReason returns why an interface is down.
func downReason(p Port) error {
	// An interface that is removed goes down first. The kernel holds a lock meanwhile, for
	// which this question waits.
	_, _ = net.InterfaceByIndex(p.At().Index)
	if removed(p) {
		return fmt.Errorf("%s: %w", p.At().Name, ErrRemoved)
	}
	return fmt.Errorf("%s: %w", p.At().Name, ErrDown)
}

// others returns the packet sockets of all ports except p.
func (c *Capture) others(p Port) (fds []int) {
	for _, other := range c.ports {
		if other != p {
			fds = append(fds, firstSocket(other))
		}
	}
	return fds
}

// resume captures from an interface again once it is back. Sockets follow an interface that comes
// up again, also under another name, but not a new one of the same name. If it has another link
// type, the capture ends with ErrLinkChanged, since the section names one link type for each
// interface. Config.DrainTime bounds how long packets of a removed interface may take.
func (c *Capture) resume(p Port) error {
	i := p.At()
	named, err := p.LookUp()
	now, err := Current(named, err, firstSocket(p), c.others(p))
	if err != nil || !now.Up {
		return nil // it may still come back
	}
	other := now.Index != i.Index || removed(p)
	if other && !p.Drained() && time.Since(i.since) < c.conf.DrainTime {
		return nil
	}
	if now.Link != i.Link {
		p.Close() // drops packets of the new type
		return fmt.Errorf("%s: %w: %v instead of %v", i.Name, ErrLinkChanged, now.Link, i.Link)
	}
	if other {
		p.Close()
		i.Device = now
		if err := c.open(p); err != nil {
			p.Close()
			if p.Final(err) {
				return err
			}
			return nil // it went away again, or memory is short: the next call tries again
		}
		if err := p.Start(); err != nil {
			return err
		}
	}
	i.setDown(false)
	return nil
}
