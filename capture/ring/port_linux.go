package ring

import (
	"fmt"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// port is an interface that is captured from, with its rings.
type port struct {
	dev   device
	conf  *Config
	rings []*ring
	// code is the socket filter. It fits one link type, which never changes during a
	// capture.
	code []bpf.RawInstruction
	// down is set while the interface is down or does not exist, and since says from
	// when. The sockets of an interface that was removed never see packets again.
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

// open sets up the rings. They let nothing in before start.
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

// start lets packets in. The rings of one interface share its packets from the start: all
// of them exist already, so none gets packets that belong to a later one.
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
			// It has succeeded before; if it fails, draining ends at its deadline.
			_ = stopReceiving(r.fd, &p.dev, p.conf)
		}
	}
}

// ready reports whether a ring block is ready.
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

// removed reports whether the interface that the sockets were bound to no longer exists.
func (p *port) removed() bool { return sockets.Removed(p.rings[0].fd, p.dev.index) }

// interfaceDown records that the interface is down or gone.
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

// interfaceUp records that the interface is up again.
func (p *port) interfaceUp() {
	p.down = false
	for _, r := range p.rings {
		r.mu.Lock()
		r.stats.Down = false
		r.mu.Unlock()
	}
}

// downReason returns why the interface is down: ErrRemoved or ErrDown.
func (p *port) downReason() error {
	if p.removed() {
		return fmt.Errorf("%s: %w", p.dev.name, ErrRemoved)
	}
	return fmt.Errorf("%s: %w", p.dev.name, ErrDown)
}

// resume captures from an interface again once it is back. A socket follows an interface
// that comes up again, but not a new interface of the same name. If the link type has
// changed, the capture ends with ErrLinkChanged, since the section names one link type
// for each interface.
func (p *port) resume() error {
	now, err := lookUp(p.dev.name)
	if err != nil || !now.up {
		return nil // it may still come back
	}
	other := now.index != p.dev.index || p.removed()
	if other && !p.drained() && time.Since(p.since) < drainTime(p.conf) {
		return nil
	}
	if now.link != p.dev.link {
		p.close() // drops packets of the new type
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
		return nil // it went away again, or memory is short: the next call tries again
	}
	if err := p.start(); err != nil {
		return err
	}
	p.interfaceUp()
	return nil
}

// drainTime bounds how long the kernel may take to hand over the last ring block.
func drainTime(c *Config) time.Duration {
	return 2*c.BlockTimeout + 200*time.Millisecond
}
