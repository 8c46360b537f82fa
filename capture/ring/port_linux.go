package ring

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// port is an interface that is captured from, and its rings.
type port struct {
	dev   device
	conf  *Config
	rings []*ring
	// out is set while the interface is down or not there, since when; an
	// interface that was removed leaves sockets behind that will never see it
	// again.
	out   bool
	since time.Time
}

func newPort(d device, c *Config, number uint32) *port {
	p := &port{dev: d, conf: c}
	for i := range c.Rings {
		p.rings = append(p.rings, &ring{
			fd:    -1,
			stats: Stats{Interface: d.name, Ring: i},
			walker: walker{
				iface: number, snapLen: uint32(c.SnapLen),
				cooked: d.cooked, tagged: d.link == capture.LinkEthernet,
			},
		})
	}
	return p
}

// open makes the rings, which take nothing in before admit.
func (p *port) open() error {
	for _, r := range p.rings {
		if err := r.open(&p.dev, p.conf); err != nil {
			return err
		}
	}
	if len(p.rings) > 1 {
		return share(p.rings, &p.dev, p.conf)
	}
	return nil
}

// admit lets packets in. Rings that share an interface each begin with their own
// part of it, never with what belongs to another that is not there yet.
func (p *port) admit() error {
	code, err := program(p.conf.Filter, uint32(p.conf.SnapLen), p.dev.index == 0, p.dev.cooked)
	if err != nil {
		return fmt.Errorf("%s: %w", p.dev.name, err)
	}
	for _, r := range p.rings {
		if err := openGate(r.fd, &p.dev, p.conf, code); err != nil {
			return err
		}
	}
	return nil
}

// refuse lets no more packets in.
func (p *port) refuse() {
	for _, r := range p.rings {
		if r.fd >= 0 {
			// It succeeded before, and if not, drained ends at its deadline.
			_ = closeGate(r.fd, &p.dev, p.conf)
		}
	}
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

// failed returns what poll has told of a socket: ENETDOWN, once, when the
// interface went.
func failed(fd int) error {
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

// leave notes that the interface is down or gone.
func (p *port) leave() {
	if p.out {
		return
	}
	p.out, p.since = true, time.Now()
	for _, r := range p.rings {
		r.mu.Lock()
		r.stats.Outages++
		r.stats.Out = true
		r.mu.Unlock()
	}
}

// enter notes that the interface is up.
func (p *port) enter() {
	p.out = false
	for _, r := range p.rings {
		r.mu.Lock()
		r.stats.Out = false
		r.mu.Unlock()
	}
}

// reason returns why the interface is out.
func (p *port) reason() error {
	if p.removed() {
		return fmt.Errorf("%s: %w", p.dev.name, ErrRemoved)
	}
	return fmt.Errorf("%s: %w", p.dev.name, ErrDown)
}

// resume takes up an interface that was out, if it is back. A socket follows an
// interface that comes up again by itself, but not a new one of the same name.
func (p *port) resume() error {
	now, err := lookUp(p.dev.name)
	if err != nil || !now.up {
		return nil // nothing to be told; it may come yet
	}
	if !p.removed() {
		p.enter()
		return nil
	}
	if !p.drained() && time.Since(p.since) < drainTime(p.conf) {
		return nil
	}
	if now.link != p.dev.link {
		return fmt.Errorf("%s: came back with link type %v instead of %v", p.dev.name, now.link, p.dev.link)
	}
	p.close()
	p.dev = now
	if err := p.open(); err != nil {
		p.close()
		return nil // as it went again meanwhile, or memory is short for the moment
	}
	if err := p.admit(); err != nil {
		return err
	}
	p.enter()
	return nil
}

// drainTime is how long the kernel may take to hand over the last block.
func drainTime(c *Config) time.Duration {
	return 2*c.BlockTimeout + 200*time.Millisecond
}
