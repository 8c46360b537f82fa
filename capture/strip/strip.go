// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Headers are kinds of headers that are taken off.
type Headers uint8

// The kinds of headers. Each is taken off wherever it lies before the first IP header, or
// with Tunnel before the innermost IP header.
const (
	// VLAN are 802.1Q and 802.1ad tags.
	VLAN Headers = 1 << iota
	// MPLS are the entries of a label stack, before IP or before an Ethernet frame.
	MPLS
	// PPPoE is the header of a session with IP, and the PPP protocol behind it.
	PPPoE
	// Tunnel is all before the innermost Ethernet frame or IP packet that is carried in
	// VXLAN, GENEVE, GTP-U, GRE, ERSPAN, IP, or any other tunnel of headers.LayerKind.
	Tunnel
	// Arista is the header with the time at which a switch of Arista saw a frame.
	Arista
)

var headerNames = []string{"vlan", "mpls", "pppoe", "tunnel", "arista"}

// ParseHeaders returns the kinds of headers with these names: vlan, mpls, pppoe, tunnel,
// arista. Its error names an unknown kind.
func ParseHeaders(names []string) (Headers, error) {
	var all Headers
	for _, name := range names {
		i := slices.Index(headerNames, name)
		if i < 0 {
			return 0, fmt.Errorf("%q is none of %s", name, strings.Join(headerNames, ", "))
		}
		all |= 1 << i
	}
	return all, nil
}

// Config says which headers are removed.
type Config struct {
	Headers Headers
	Tunnels *headers.Tunnels // the UDP ports of tunnels; nil stands for the usual ports
	// Sent says that packets go to an interface, which takes no truncated packets. Then a frame that a
	// mirror has cut, before it put the tunnel around it, is taken for whole.
	Sent bool
}

// Stats counts packets.
type Stats struct {
	Stripped uint64 // packets that lost a header
	// Left are packets that still have a header that was to be taken off.
	Left uint64
}

// Stripper takes headers off the packets of one stream. It is for one goroutine at a time.
type Stripper struct {
	headers Headers
	tunnels *headers.Tunnels
	decoder *headers.Decoder
	plan    plan
	tables  tables
	out     capture.Batch
	stats   Stats
}

// New returns a Stripper.
func New(cfg Config) *Stripper {
	return &Stripper{
		headers: cfg.Headers, tunnels: cfg.Tunnels,
		decoder: headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Headers&Tunnel != 0, Tunnels: cfg.Tunnels}),
		tables:  tables{derived: map[origin]uint32{}}, plan: plan{sent: cfg.Sent},
	}
}

// Stats returns the counts so far.
func (s *Stripper) Stats() Stats { return s.stats }

// Strip takes headers off the frames of b that drop keeps; a nil drop keeps all. The result
// is for a Writer, with the same drop. It is valid until the next call, and shares the
// memory of b, whose content is only to be used through the result from then on. b may be
// filled anew then. Frames stay in their order, under their numbers. Strip panics if drop
// is not nil and too short.
//
// With Tunnel, packets out of a tunnel come from an interface of their own, which the result
// describes: its link type is Ethernet or RAW, and its name consists of the capturing
// interface and the tunnel with its VNI, endpoint, key or session, such as "eth0 vxlan:1234".
// Beyond 4096 tunnels the name is "eth0 tunnel". Writers need to know of such interfaces: see
// Derived of pcapfile.WriterOptions.
//
// Strip takes time linear in the length of frames, and allocates only for new interfaces.
func (s *Stripper) Strip(b *capture.Batch, drop []uint64) *capture.Batch {
	capture.CheckDrop(b, drop)
	s.tables.follow(b)
	for pos := 0; pos < len(b.Frames); {
		lo, hi := capture.NextRun(drop, pos, len(b.Frames))
		for i := lo; i < hi; i++ {
			s.frame(b, i)
		}
		pos = hi
	}
	s.tables.renumber(b.Frames)
	s.out = capture.Batch{
		Buf: b.Buf, Frames: b.Frames, Blocks: b.Blocks, Interfaces: slices.Clip(s.tables.all), Sections: b.Sections,
	}
	return &s.out
}

// frame takes headers off frame i.
func (s *Stripper) frame(b *capture.Batch, i int) {
	f, p := &b.Frames[i], &s.plan
	link, d := b.Interfaces[f.Interface].LinkType, b.Data(i)
	typeAt := 0 // where the type field of IP is, if that is all that is to be known
	if link == capture.LinkEthernet {
		typeAt = s.quick(d)
	}
	switch {
	case typeAt == firstType, typeAt > 0 && s.headers&VLAN == 0:
		return
	case typeAt > 0 && untag(b, i, uint32(typeAt)):
		s.stats.Stripped++
		return
	case typeAt > 0:
		p.reset(d, link, f.WireLen)
		p.set(firstType, be16(d[typeAt:]))
		p.cut(firstType+2, uint32(typeAt)+2)
	default:
		p.reset(d, link, f.WireLen)
		p.layers = s.decoder.Layers(p.layers[:0], b, i)
		p.make(s.headers)
	}
	s.apply(b, i)
}

// apply changes frame i by the plan, and counts.
func (s *Stripper) apply(b *capture.Batch, i int) {
	p := &s.plan
	if len(p.cuts) > 0 && !p.carried && isShortSimple(b, i) {
		p.failed = true
	}
	if p.failed || p.unread {
		s.stats.Left++
	}
	if p.failed || len(p.cuts) == 0 {
		return
	}
	s.stats.Stripped++
	p.apply(b, i)
	if p.carried {
		s.tables.carried(&b.Frames[i], p.link, p.tunnel)
	}
}

const (
	// firstType is the offset of the type field of Ethernet.
	firstType = 12
	// quickTags is how many tags quick follows.
	quickTags = 3
)

// quick returns the offset of the type field of IP in an Ethernet frame with at most tags
// before it, and no tunnel to be opened behind it: nearly all frames are like this. It returns 0
// for frames whose headers have to be walked through.
func (s *Stripper) quick(d []byte) int {
	at := firstType
	for range quickTags {
		if len(d) < at+6 || !iana.IsVLAN(be16(d[at:])) {
			break
		}
		at += 4
	}
	if len(d) < at+2 || !s.plainIP(be16(d[at:]), d[at+2:]) {
		return 0
	}
	return at
}

// plainIP reports whether d is an IP packet in which no header is to be looked for.
func (s *Stripper) plainIP(typ uint16, d []byte) bool {
	proto, ports := byte(0), 0
	switch {
	case len(d) < 40: // the least that decides
		return false
	case typ == iana.TypeIPv4 && d[0] == 0x45:
		if proto, ports = d[9], 20; be16(d[6:])&0x3fff != 0 && s.headers&Tunnel != 0 {
			return false // a fragment
		}
	case typ == iana.TypeIPv6 && d[0]>>4 == 6:
		proto, ports = d[6], 40
	default:
		return false
	}
	if s.headers&Tunnel == 0 {
		return true
	}
	switch proto {
	case iana.ProtoTCP, iana.ProtoICMP, iana.ProtoICMPv6:
		return true
	case iana.ProtoUDP:
		return len(d) >= ports+8 && !s.tunnels.IsPort(be16(d[ports+2:])) && !s.tunnels.IsPort(be16(d[ports:]))
	}
	return false
}

func be16(d []byte) uint16 { return binary.BigEndian.Uint16(d) }
