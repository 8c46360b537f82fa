// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// follower is how far a port follows its interface.
type follower struct {
	started bool   // packets are let in
	paused  bool   // packets go to the host until the sockets are empty and can be opened anew
	tried   uint64 // what had gone to the host when queues were last looked for
	warned  bool   // a warning said why queues are not captured
}

var _ sockets.Follower = (*port)(nil)

// Follow implements sockets.Follower: it opens sockets for queues that came, and larger sockets for
// a larger MTU. The kernel refuses to take queues away that have a socket.
func (p *port) Follow(now *sockets.Device) (done bool, err error) {
	if p.program == nil || !p.started {
		return true, nil
	}
	if now.HidesTags != p.HidesTags {
		p.HidesTags = now.HidesTags
		p.setTakesTags(now.HidesTags)
	}
	other := now.MTU != p.MTU
	p.MTU = now.MTU
	if s := sizeFor(p.MTU, p.conf.RingBytes); p.paused || other && (s.frame > p.size.frame || s.split && !p.size.split) {
		return p.enlarge(s)
	}
	return true, p.openMore(now.Queues)
}

// enlarge opens all sockets again for larger packets, once the packets in them are read. Meanwhile the
// host gets the packets.
func (p *port) enlarge(s size) (done bool, err error) {
	if !p.paused {
		if err := p.allowed(); err != nil {
			p.conf.Warn(fmt.Errorf("%w: longer packets of its MTU, which is now %d, are lost", err, p.MTU))
			return true, nil
		}
		p.paused, p.stopped = true, time.Now()
		return false, p.program.pause(p.open())
	}
	if !p.Drained() {
		return false, nil
	}
	p.paused = false
	p.closeQueues()
	if s.split && !p.size.split {
		p.program.stop() // veth refuses its peer the MTU while a program is replaced (Linux 6.18)
		if err := p.program.bind(p.Index, true); err != nil {
			return true, err
		}
	}
	p.size = s
	if err := p.openSplit(); err != nil {
		return true, err
	}
	p.opened()
	err = p.Start()
	p.tried = p.countToHost()
	p.conf.Warn(fmt.Errorf("%s: its MTU is now %d: its sockets were opened again, and the host got %d packets meanwhile", p.Name, p.MTU, p.tried))
	return true, err
}

// openMore opens sockets for queues that the interface got. Where the driver does not say how many
// there are, packets of others go to the host.
func (p *port) openMore(queues int) error {
	open, lost := p.open(), p.countToHost()
	more := queues > open && queues != p.Queues
	if !more && lost == p.tried {
		return nil
	}
	p.Queues, p.tried, p.warned = queues, lost, p.warned && !more
	err := p.allowed()
	if err == nil {
		err = explain(p.Name, p.openQueues(open))
	}
	if err != nil && !p.warned {
		p.warned = true
		p.conf.Warn(fmt.Errorf("%w: only %d of its receive queues are captured", err, p.open()))
	}
	if p.open() == open {
		return nil
	}
	p.opened()
	// Drivers may not run the program for queues that come later (veth, Linux 6.18).
	if err := p.program.bind(p.Index, p.size.split); err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	p.tried = p.countToHost()
	p.conf.Warn(fmt.Errorf("%s: %d receive queues instead of %d are captured from now on, and the host got %d packets meanwhile", p.Name, p.open(), open, p.tried))
	return nil
}

// allowed returns why no socket can be opened: a run may have given up its privileges.
func (p *port) allowed() error {
	fd, err := newSocket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd) // it was never used
	}
	return explain(p.Name, err)
}

// open returns how many queues have a socket.
func (p *port) open() (n int) {
	for _, q := range p.queues {
		if q.socket != nil {
			n++
		}
	}
	return n
}

func (p *port) closeQueues() {
	for _, q := range p.queues {
		q.close()
	}
}

// countToHost returns how many packets went to the host instead of to sockets. Any goroutine may call it.
func (p *port) countToHost() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard >= 0 {
		// This cannot fail on a packet socket. It clears what it counts.
		if n, err := unix.GetsockoptTpacketStats(p.guard, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			p.toHost += uint64(n.Packets)
		}
	}
	return p.toHost
}

// CountedTwice implements sockets.Port: drivers count packets that the kernel could not redirect.
func (p *port) CountedTwice() (n uint64) {
	p.mu.Lock()
	queues := p.queues
	p.mu.Unlock()
	for _, q := range queues {
		s := q.readStats()
		n += s.Dropped - s.ToHost
	}
	return n
}
