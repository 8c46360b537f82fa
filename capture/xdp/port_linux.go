// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// port is an interface that is captured from.
type port struct {
	sockets.Interface
	conf    *Config
	filter  *bpf.Machine
	guard   int // -1 while the port is closed
	program *redirect
	size    size      // of the sockets
	copied  bool      // the driver has no zero copy
	opened  func()    // is called when there may be more queues
	stopped time.Time // when packets were left to the host again
	follower
	// takesTags says that the driver takes VLAN tags off, and that no warning said so yet.
	takesTags bool

	mu sync.Mutex // guards the fields below, and guard, against those who count
	// queues only grow: their statistics outlast an interface that is removed.
	queues []*queue
	toHost uint64 // packets that went to the host since Start
}

// Frames of memory have one of two sizes. The kernel keeps headroom in each (XDP_PACKET_
// HEADROOM), and also room for a stamp at the begin of a cache line. Besides the MTU a frame
// needs room for a header with two VLAN tags.
const (
	smallFrame, largeFrame = 2048, 4096
	headroom               = 256 + stampLen
	linkHeader             = 14 + 2*4
)

// sizeFor returns the size of a socket for packets of an MTU.
func sizeFor(mtu, ringBytes int) size {
	s := size{bytes: ringBytes, frame: smallFrame}
	if mtu+linkHeader > smallFrame-headroom {
		s.frame = largeFrame
	}
	s.split = mtu+linkHeader > largeFrame-headroom
	return s
}

// At implements sockets.Port, as do all exported methods.
func (p *port) At() *sockets.Interface { return &p.Interface }

func (p *port) LookUp() (sockets.Device, error) { return sockets.LookUp(p.Name) }

// Open attaches the program and opens the sockets. No packet comes before Start.
func (p *port) Open() (err error) {
	if !p.conf.Take {
		if err := refuseUsed(p.Name); err != nil {
			return err
		}
	}
	if err := p.openAll(); err != nil {
		p.Close()
		return explain(p.Name, err)
	}
	p.opened()
	p.warn()
	return nil
}

// Final reports whether an error stays until somebody does something.
func (p *port) Final(err error) bool {
	return errors.Is(err, ErrInUse) || errors.Is(err, errNotPermitted)
}

func (p *port) openAll() error {
	fd, err := guard(p.Index, p.conf.Promiscuous)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.guard = fd
	p.mu.Unlock()
	p.size = sizeFor(p.MTU, p.conf.RingBytes)
	if p.program, err = attach(&p.Device, p.size.split, p.conf.HardwareTime); err != nil {
		return err
	}
	p.copied = p.program.generic
	return p.openSplit()
}

// openSplit opens a socket for each receive queue, whose packets may be split if the size says so and
// the kernel can.
func (p *port) openSplit() error {
	err := p.openQueues(0)
	if p.size.split && errors.Is(err, unix.EINVAL) {
		p.conf.Warn(fmt.Errorf("%s: the kernel drops frames of more than %d bytes, since it cannot split them", p.Name, largeFrame-headroom))
		p.size.split = false
		err = p.openQueues(0)
	}
	return err
}

// openQueues opens a socket for each receive queue from number first on. The kernel refuses a queue
// that the interface does not have. Where a driver has no zero copy, the kernel mostly copies; where
// it refuses the socket instead, the copy mode is requested.
func (p *port) openQueues(first int) error {
	for i := first; i < maxQueues; i++ {
		x, err := openSocket(p.Index, i, p.size, p.copied)
		if i == 0 && err != nil && !p.copied {
			var other error
			if x, other = openSocket(p.Index, i, p.size, true); other == nil {
				p.copied, err = true, nil
			}
		}
		if i > 0 && errors.Is(err, unix.EINVAL) {
			return nil
		}
		if err != nil {
			return err
		}
		if i == len(p.queues) {
			p.addQueue()
		}
		p.queues[i].open(x, p.program)
	}
	return nil
}

// addQueue adds the next queue, without a socket. Queue 0 counts what went to the host.
func (p *port) addQueue() {
	i := len(p.queues)
	q := &queue{
		number: i, port: &p.Interface, stats: afpacket.Stats{Interface: p.Name, Ring: i},
		reader: reader{iface: p.Number, snapLen: uint32(p.conf.SnapLen), filter: p.filter},
	}
	if i == 0 {
		q.toHost = p.countToHost
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, q)
}

// warn reports why the capture is slower or incomplete.
func (p *port) warn() {
	if p.program.generic {
		p.conf.Warn(fmt.Errorf("%s: %s: packets take the slower generic path, which loses VLAN tags that the kernel keeps beside frames: use --capture afpacket if there are any", p.Name, p.program.refusal))
	}
	if p.conf.HardwareTime && !p.program.cards {
		p.conf.Warn(fmt.Errorf("%s: times come from the host's clock: Linux 6.3 and XDP in the driver are needed for those of the network card", p.Name))
	}
	p.setTakesTags(p.HidesTags)
}

// setTakesTags notes whether the driver takes VLAN tags off, and warns if it cannot report them.
func (p *port) setTakesTags(takes bool) {
	if p.takesTags = takes; !p.program.tags {
		p.lostTags()
	}
}

// warnLostTags warns once it is known that the driver does not report the tags that it removes.
func (p *port) warnLostTags() {
	for _, q := range p.queues {
		if p.takesTags && q.reader.lostTags {
			p.lostTags()
		}
	}
}

func (p *port) lostTags() {
	if p.takesTags && !p.program.generic { // there, tags are lost whatever ethtool says
		p.takesTags = false
		p.conf.Warn(fmt.Errorf("%s: VLAN tags that the driver takes off are lost: ethtool -K %s rxvlan off", p.Name, p.Name))
	}
}

// Start lets packets in.
func (p *port) Start() error {
	for _, q := range p.queues {
		if q.socket == nil {
			continue
		}
		if err := p.program.start(q.number, q.socket.fd); err != nil {
			return explain(p.Name, err)
		}
	}
	if p.started {
		return nil
	}
	p.started = true
	return explain(p.Name, bindGuard(p.guard, p.Index, allProtocols))
}

// Stop leaves packets to the host again.
func (p *port) Stop() {
	p.stopped = time.Now()
	if p.started {
		_ = bindGuard(p.guard, p.Index, unusedProtocol) // if it fails, it is for an interface that is gone
	}
	if p.program != nil {
		p.program.stop()
	}
}

func (p *port) Close() {
	p.follower = follower{}
	if p.program != nil {
		p.program.close()
		p.program = nil
	}
	p.closeQueues()
	p.countToHost()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guard >= 0 {
		_ = unix.Close(p.guard) // its packets were counted
		p.guard = -1
	}
}

func (p *port) Sockets(set []unix.PollFd) []unix.PollFd {
	set = append(set, unix.PollFd{Fd: int32(p.guard)})
	for _, q := range p.queues {
		fd := -1
		if q.socket != nil {
			fd = q.socket.fd
		}
		set = append(set, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return set
}

// waiting returns how many descriptors wait in all queues.
func (p *port) waiting() (n int) {
	for _, q := range p.queues {
		n += q.waiting()
	}
	return n
}

func (p *port) Waiting() bool { return p.waiting() > 0 }

func (p *port) Behind() bool { return p.waiting() >= batchPackets }

// inFlight is how long packets may take from the program to a socket after the program was
// detached.
const inFlight = 10 * time.Millisecond

func (p *port) Drained() bool { return !p.Waiting() && time.Since(p.stopped) > inFlight }

func (p *port) Counts() (received, dropped uint64) {
	for _, q := range p.queues {
		s := q.readStats()
		received += s.Received
		dropped += s.Dropped
	}
	return received, dropped
}
