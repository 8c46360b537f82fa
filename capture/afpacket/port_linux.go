// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// port is an interface that is captured from, with its rings.
type port struct {
	sockets.Interface
	conf  *Config
	rings []*ring
	// code is the socket filter. It fits one link type, which never changes during a
	// capture.
	code []bpf.RawInstruction
}

func newPort(d sockets.Device, c *Config, number uint32) (*port, error) {
	p := &port{conf: c}
	p.Device = d
	user, err := c.filterFor(d.Link)
	if err == nil {
		p.code, err = program(sentFrames(&d, c), user, uint32(c.SnapLen), d.Cooked)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	for i := range c.Rings {
		p.rings = append(p.rings, &ring{
			fd: -1, port: &p.Interface,
			stats: Stats{Interface: d.Name, Ring: i},
			walker: walker{
				iface: number, snapLen: uint32(c.SnapLen),
				cooked: d.Cooked, tagged: d.Link == capture.LinkEthernet, inPlace: c.InPlace,
			},
		})
	}
	return p, nil
}

// At implements sockets.Port, as do all exported methods.
func (p *port) At() *sockets.Interface { return &p.Interface }

func (p *port) LookUp() (sockets.Device, error) { return lookUp(p.Name) }

// Open sets up the rings. They let nothing in before Start.
func (p *port) Open() error {
	if err := checkFilter(&p.Device, p.conf, p.code); err != nil {
		return err
	}
	for _, r := range p.rings {
		if err := r.open(&p.Device, p.conf); err != nil {
			return err
		}
	}
	if len(p.rings) > 1 {
		return joinFanout(p.rings, &p.Device, p.conf)
	}
	return nil
}

// Final returns false: an interface may go away again, or memory be short for a while.
func (p *port) Final(error) bool { return false }

// Start lets packets in. The rings of an interface share its packets from the start: all rings
// exist already, so none gets packets that belong to a later ring.
func (p *port) Start() error {
	for _, r := range p.rings {
		if err := startReceiving(r.fd, &p.Device, p.conf, p.code); err != nil {
			return err
		}
	}
	return nil
}

// Stop lets no more packets in.
func (p *port) Stop() {
	for _, r := range p.rings {
		if r.fd >= 0 {
			// It has succeeded before; if it fails, draining ends at its deadline.
			_ = stopReceiving(r.fd, &p.Device, p.conf)
		}
	}
}

func (p *port) Close() {
	for _, r := range p.rings {
		r.close()
	}
}

func (p *port) Sockets(set []unix.PollFd) []unix.PollFd {
	for _, r := range p.rings {
		set = append(set, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	return set
}

// Waiting reports whether packets of any ring wait.
func (p *port) Waiting() bool { return slices.ContainsFunc(p.rings, (*ring).ready) }

// Behind reports whether a whole ring block is ready.
func (p *port) Behind() bool { return slices.ContainsFunc(p.rings, (*ring).behind) }

func (p *port) Drained() bool {
	return !slices.ContainsFunc(p.rings, func(r *ring) bool { return !r.drained() })
}

func (p *port) Counts() (received, dropped uint64) {
	for _, r := range p.rings {
		s := r.readStats()
		received += s.Received
		dropped += s.Dropped
	}
	return received, dropped
}

// CountedTwice returns how many packets were captured that the host counts as dropped.
func (p *port) CountedTwice() (n uint64) {
	for _, r := range p.rings {
		r.mu.Lock()
		n += r.unhandled
		r.mu.Unlock()
	}
	return n
}
