package ring

import (
	"fmt"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// port is an interface that is captured from, and its rings.
type port struct {
	dev   device
	conf  *Config
	rings []*ring
	// code is the filter. The link type, for which it is, stays what it is.
	code []bpf.RawInstruction
	// down is set while the interface is down or not there, since when; an
	// interface that was removed leaves sockets behind that will never see it
	// again.
	down  bool
	since time.Time
}

func newPort(d device, c *Config, number uint32) (*port, error) {
	p := &port{dev: d, conf: c}
	user, err := c.filterFor(d.link)
	if err == nil {
		p.code, err = program(user, uint32(c.SnapLen), d.index == 0, d.cooked)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	for i := range c.Rings {
		p.rings = append(p.rings, &ring{
			fd:    -1,
			stats: Stats{Interface: d.name, Ring: i},
			walker: walker{
				iface: number, snapLen: uint32(c.SnapLen),
				cooked: d.cooked, tagged: d.link == capture.LinkEthernet, inPlace: c.InPlace,
			},
		})
	}
	return p, nil
}

// open makes the rings, which take nothing in before admit.
func (p *port) open() error {
	if err := checkFilter(&p.dev, p.conf, p.code); err != nil {
		return err
	}
	for _, r := range p.rings {
		if err := r.open(&p.dev, p.conf); err != nil {
			return err
		}
	}
	if len(p.rings) > 1 {
		return joinFanout(p.rings, &p.dev, p.conf)
	}
	return nil
}

// start lets packets in. Rings that share an interface each begin with their own
// part of it, never with what belongs to another that is not there yet.
func (p *port) start() error {
	for _, r := range p.rings {
		if err := startReceiving(r.fd, &p.dev, p.conf, p.code); err != nil {
			return err
		}
	}
	return nil
}

// stop lets no more packets in.
func (p *port) stop() {
	for _, r := range p.rings {
		if r.fd >= 0 {
			// It succeeded before, and if not, drained ends at its deadline.
			_ = stopReceiving(r.fd, &p.dev, p.conf)
		}
	}
}

// ready reports whether there are packets.
func (p *port) ready() bool {
	for _, r := range p.rings {
		if r.ready() {
			return true
		}
	}
	return false
}

func (p *port) close() {
	for _, r := range p.rings {
		r.close()
	}
}

func (p *port) drained() bool {
	for _, r := range p.rings {
		if !r.drained() {
			return false
		}
	}
	return true
}

// socketError returns what poll has told of a socket: ENETDOWN, once, when the
// interface went.
func socketError(fd int) error {
	number, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if number != 0 {
		return unix.Errno(number)
	}
	return nil
}

// removed reports whether the interface that the sockets were bound to is gone.
func (p *port) removed() bool {
	fd := p.rings[0].fd
	if fd < 0 {
		return true
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return true
	}
	link, ok := address.(*unix.SockaddrLinklayer)
	return !ok || link.Ifindex != p.dev.index
}

// interfaceDown notes that the interface is down or gone.
func (p *port) interfaceDown() {
	if p.down {
		return
	}
	p.down, p.since = true, time.Now()
	for _, r := range p.rings {
		r.mu.Lock()
		r.stats.Outages++
		r.stats.Down = true
		r.mu.Unlock()
	}
}

// interfaceUp notes that the interface is up.
func (p *port) interfaceUp() {
	p.down = false
	for _, r := range p.rings {
		r.mu.Lock()
		r.stats.Down = false
		r.mu.Unlock()
	}
}

// downReason returns why the interface is out.
func (p *port) downReason() error {
	if p.removed() {
		return fmt.Errorf("%s: %w", p.dev.name, ErrRemoved)
	}
	return fmt.Errorf("%s: %w", p.dev.name, ErrDown)
}

// resume takes up an interface that was out, if it is back. A socket follows an
// interface that comes up again by itself, but not a new one of the same name. Both may
// have another link type than before, which ends the capture: the section names one for
// each interface.
func (p *port) resume() error {
	now, err := lookUp(p.dev.name)
	if err != nil || !now.up {
		return nil // nothing to be told; it may come yet
	}
	other := now.index != p.dev.index || p.removed()
	if other && !p.drained() && time.Since(p.since) < drainTime(p.conf) {
		return nil
	}
	if now.link != p.dev.link {
		p.close() // with what the rings may hold of the new type
		return fmt.Errorf("%s: %w: %v instead of %v", p.dev.name, ErrLinkChanged, now.link, p.dev.link)
	}
	if !other {
		p.interfaceUp()
		return nil
	}
	p.close()
	p.dev = now
	if err := p.open(); err != nil {
		p.close()
		return nil // as it went again meanwhile, or memory is short for the moment
	}
	if err := p.start(); err != nil {
		return err
	}
	p.interfaceUp()
	return nil
}

// drainTime is how long the kernel may take to hand over the last block.
func drainTime(c *Config) time.Duration {
	return 2*c.BlockTimeout + 200*time.Millisecond
}
