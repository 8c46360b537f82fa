package xdp

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// port is an interface that is captured from.
type port struct {
	dev     *net.Interface
	conf    *Config
	number  uint32
	filter  *bpf.Machine
	guard   int // -1 while the port is closed
	program *redirect
	// queues only grow: their statistics outlast an interface that is removed.
	queues []*queue
	down   bool // the interface is down or does not exist
	// takesTags says that the driver takes VLAN tags off, and that no warning said so yet.
	takesTags bool
}

// Frames of memory are of either size. The kernel keeps headroom in each (XDP_PACKET_
// HEADROOM), and we have it keep room for a stamp that begins a line of the cache. A frame
// needs room for a header with two VLAN tags besides the MTU.
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

// open attaches the program and opens the sockets. No packet comes before start.
func (p *port) open() (err error) {
	if !p.conf.Take {
		if err := refuseUsed(p.dev); err != nil {
			return err
		}
	}
	if err := p.openAll(); err != nil {
		p.close()
		return explain(p.dev.Name, err)
	}
	p.warn()
	return nil
}

func (p *port) openAll() (err error) {
	if p.guard, err = guard(p.dev, p.conf.Promiscuous); err != nil {
		return err
	}
	s := sizeFor(p.dev.MTU, p.conf.RingBytes)
	if p.program, err = attach(p.dev, s.split, p.conf.HardwareTime); err != nil {
		return err
	}
	err = p.openQueues(s)
	if s.split && errors.Is(err, unix.EINVAL) {
		p.conf.Warn(fmt.Errorf("%s: the kernel drops frames of more than %d bytes, since it cannot split them", p.dev.Name, largeFrame-headroom))
		s.split = false
		err = p.openQueues(s)
	}
	return err
}

// openQueues opens a socket for each receive queue. The kernel refuses a queue that the
// interface does not have. Where a driver has no zero copy, the kernel mostly copies; where
// it refuses the socket instead, it is told to.
func (p *port) openQueues(s size) error {
	copied := p.program.generic
	for i := range maxQueues {
		x, err := openSocket(p.dev.Index, i, s, copied)
		if i == 0 && err != nil && !copied {
			var other error
			if x, other = openSocket(p.dev.Index, i, s, true); other == nil {
				copied, err = true, nil
			}
		}
		if i > 0 && errors.Is(err, unix.EINVAL) {
			return nil
		}
		if err != nil {
			return err
		}
		if i == len(p.queues) {
			p.queues = append(p.queues, p.newQueue(i))
		}
		p.queues[i].open(x, p.program)
	}
	return nil
}

func (p *port) newQueue(i int) *queue {
	return &queue{
		number: i, stats: ring.Stats{Interface: p.dev.Name, Ring: i},
		reader: reader{iface: p.number, snapLen: uint32(p.conf.SnapLen), filter: p.filter},
	}
}

// warn says what makes the capture slower or incomplete.
func (p *port) warn() {
	if p.program.generic {
		p.conf.Warn(fmt.Errorf("%s: the driver runs no XDP programs: packets take the slower generic path", p.dev.Name))
	}
	if p.conf.HardwareTime && !p.program.cards {
		p.conf.Warn(fmt.Errorf("%s: times come from the host's clock: Linux 6.3 and XDP in the driver are needed for those of the network card", p.dev.Name))
	}
	if p.takesTags = hidesTags(p.dev.Name); !p.program.tags {
		p.lostTags()
	}
}

// warnLostTags warns once it is known that the driver does not tell which tags it takes
// off.
func (p *port) warnLostTags() {
	for _, q := range p.queues {
		if p.takesTags && q.reader.lostTags {
			p.lostTags()
		}
	}
}

func (p *port) lostTags() {
	if p.takesTags {
		p.takesTags = false
		p.conf.Warn(fmt.Errorf("%s: VLAN tags that the driver takes off are lost: ethtool -K %s rxvlan off", p.dev.Name, p.dev.Name))
	}
}

// start lets packets in.
func (p *port) start() error {
	for _, q := range p.queues {
		if q.socket == nil {
			continue
		}
		if err := p.program.start(q.number, q.socket.fd); err != nil {
			return explain(p.dev.Name, err)
		}
	}
	return nil
}

// stop leaves packets to the host again.
func (p *port) stop() {
	if p.program != nil {
		p.program.stop()
	}
}

func (p *port) close() {
	if p.program != nil {
		p.program.close()
		p.program = nil
	}
	for _, q := range p.queues {
		q.close()
	}
	if p.guard >= 0 {
		_ = unix.Close(p.guard) // it has received nothing
		p.guard = -1
	}
}

// removed reports whether the interface that the sockets were bound to no longer exists.
func (p *port) removed() bool { return sockets.Removed(p.guard, p.dev.Index) }

// setDown records that the interface went down or away, or came back.
func (p *port) setDown(down bool) {
	if p.down == down {
		return
	}
	p.down = down
	for _, q := range p.queues {
		q.mu.Lock()
		if q.stats.Down = down; down {
			q.stats.Outages++
		}
		q.mu.Unlock()
	}
}

// downReason returns why the interface is down.
func (p *port) downReason() error {
	if p.removed() {
		return fmt.Errorf("%s: %w", p.dev.Name, ring.ErrRemoved)
	}
	return fmt.Errorf("%s: %w", p.dev.Name, ring.ErrDown)
}

// resume captures again from an interface once it is back. A program stays on an interface
// that goes down and up, but a new interface of the same name needs everything anew.
func (p *port) resume() error {
	now, err := lookUp(p.dev.Name)
	switch {
	case errors.Is(err, ErrUnfit):
		return fmt.Errorf("%w: %w", ring.ErrLinkChanged, err)
	case err != nil || now.Flags&net.FlagUp == 0:
		return nil // it may still come back
	case now.Index == p.dev.Index && !p.removed():
		p.setDown(false)
		return nil
	}
	p.close()
	p.dev = now
	if err := p.open(); errors.Is(err, ErrInUse) || errors.Is(err, errNotPermitted) {
		return err
	} else if err != nil {
		return nil // it went away again, or memory is short: the next call tries again
	}
	if err := p.start(); err != nil {
		return err
	}
	p.setDown(false)
	return nil
}

// waiting reports whether packets wait to be read.
func (p *port) waiting() bool {
	for _, q := range p.queues {
		if q.waiting() > 0 {
			return true
		}
	}
	return false
}
