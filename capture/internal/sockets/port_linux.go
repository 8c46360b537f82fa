// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"cmp"
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
	// the capture. After any other error, Open is called again.
	Open() error
	Final(err error) bool
	// Start lets packets in, Stop lets no more in.
	Start() error
	Stop()
	// Close closes the sockets, and drops their packets.
	Close()
	// Sockets appends the descriptors to poll, with -1 for closed sockets. The first is a
	// packet socket that is bound to the interface.
	Sockets(set []unix.PollFd) []unix.PollFd
	// Waiting reports whether packets can be read.
	Waiting() bool
	// Behind reports whether more packets wait than one read takes.
	Behind() bool
	// Drained reports whether all packets were read. That is final only once no more come
	// in.
	Drained() bool
	// Counts returns how many packets came, including dropped packets.
	Counts() (received, dropped uint64)
	// CountedTwice returns how many of the packets of Counts the interface may count as dropped
	// (rx_dropped), too. Any goroutine may call it.
	CountedTwice() uint64
}

// Follower is a Port that depends on more than that its interface is up.
type Follower interface {
	// Follow is called about each second, and when a property of the interface has changed. It
	// opens again what must be. Without done it is called again soon: packets have to be read
	// first. After an error the whole port is opened again.
	Follow(now *Device) (done bool, err error)
}

// Interface is the interface that a Port captures from.
type Interface struct {
	Device
	Number uint32 // in batches

	since time.Time // when it went down

	mu      sync.Mutex // guards the fields below
	outages uint64
	down    bool
	away    string // why the interface is gone: see watcher.readEvents
	index   int    // Device.Index, for the watcher
	seen    Device // as the watcher saw it last
	card    card
}

// State returns how often the interface went down or away, why it is so now, "" if it is not, and
// what its card lost. Any goroutine may call it.
func (i *Interface) State() (outages uint64, why string, lost CardCounts) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		why = cmp.Or(i.away, ErrDown.Error())
	}
	return i.outages, why, i.card.lost
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
	i.down, i.index = down, i.Index
	if !down {
		i.away = ""
	}
}

// setAway records why the interface of an index is gone.
func (i *Interface) setAway(index int, why string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.index == index {
		i.away = why
	}
}

// latest returns the interface as the watcher saw it last.
func (i *Interface) latest() Device {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen
}

func isDown(p Port) bool {
	_, why, _ := p.At().State()
	return why != ""
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
func (c *Capture) downReason(p Port) error {
	// An interface that is removed goes down first. The kernel holds a lock meanwhile, for
	// which this question waits.
	_, _ = net.InterfaceByIndex(p.At().Index)
	if !removed(p) {
		return fmt.Errorf("%s: %w", p.At().Name, ErrDown)
	}
	c.watch.look(properties)
	if _, why, _ := p.At().State(); why == away {
		return fmt.Errorf("%s: %w: %s", p.At().Name, ErrRemoved, why)
	}
	return fmt.Errorf("%s: %w", p.At().Name, ErrRemoved)
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
// up again, also after it was renamed, but no new interface of its name. If it has another link
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
		i.Device = now
		if err := c.reopen(p); p.Final(err) {
			return err
		} else if err != nil {
			return nil // it went away again, or memory is short: the next call tries again
		}
	}
	i.setDown(false)
	return nil
}

// reopen opens a port anew. Without success it is closed.
func (c *Capture) reopen(p Port) error {
	p.Close()
	err := c.open(p)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		p.Close()
	}
	return err
}

// follow lets ports follow changes of their interfaces. It returns whether a port waits for its
// packets to be read.
func (c *Capture) follow() (again bool) {
	for _, p := range c.ports {
		f, ok := p.(Follower)
		if !ok || isDown(p) || c.state != running {
			continue
		}
		now := p.At().latest()
		done, err := true, error(nil)
		if now.Index == p.At().Index {
			if done, err = f.Follow(&now); err == nil {
				err = c.listen(p)
			}
		}
		again = again || !done
		if err == nil {
			continue
		}
		if err = c.reopen(p); err == nil {
			continue
		}
		if p.At().setDown(true); !c.conf.Wait || p.Final(err) {
			c.drain(err)
		}
	}
	return again
}
