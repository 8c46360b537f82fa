// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// DecoderConfig says how frames are decoded.
type DecoderConfig struct {
	// Inner opens tunnels and describes the innermost IP header. The Header is as if the
	// tunnels did not exist: hardware addresses and VLAN tags come from the innermost Ethernet
	// frame.
	Inner bool
	// Tunnels are the UDP ports of tunnels; nil stands for the usual ports.
	Tunnels *Tunnels
}

// Decoder finds IP headers. It has no state, so goroutines may share it.
type Decoder struct {
	inner   bool
	tunnels *Tunnels
}

// NewDecoder returns a decoder.
func NewDecoder(cfg DecoderConfig) *Decoder {
	return &Decoder{inner: cfg.Inner, tunnels: cfg.Tunnels.or()}
}

// Decode describes frames from to from+len(h)-1 of b in h. It keeps no reference to
// either. It panics if b has fewer frames.
func (d *Decoder) Decode(h []Header, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(h)]
	for i := 0; i < len(h); {
		n, link := LinkRun(frames[i:], b.Interfaces)
		for end := i + n; i < end; {
			if link == capture.LinkEthernet {
				i += decodeFast(h[i:end], frames[i:end], b.Buf)
			}
			if i < end {
				decodeSlow(&h[i], b, from+i)
				i++
			}
		}
	}
	if !d.inner {
		return
	}
	for i := range h {
		if mayTunnel[h[i].Proto] {
			d.tunnels.open(&h[i], b.Data(from+i), frames[i].WireLen, nil)
		}
	}
}

// decodeSlow decodes frame i of b on the slow path: any link type, and anything between
// the link header and IP.
func decodeSlow(h *Header, b *capture.Batch, i int) {
	f := &b.Frames[i]
	if !decodeCommon(h, b.Interfaces[f.Interface].LinkType, b.Data(i), f.WireLen) {
		readFrame(h, b, i, nil)
	}
}

// DecodeSlow describes frame i of b in h as Decode does, without the fast path: for frames
// that a kernel of asm/headers has left. Of a frame without an IP header it locates the
// parts in p, and returns what NonIPParts.Read would. It panics if b has no frame i.
func (d *Decoder) DecodeSlow(h *Header, p *NonIPParts, b *capture.Batch, i int) (parts bool) {
	f := &b.Frames[i]
	if !decodeCommon(h, b.Interfaces[f.Interface].LinkType, b.Data(i), f.WireLen) {
		w := readFrame(h, b, i, nil)
		if h.Version == 0 {
			return p.walked(&w, b, i, h)
		}
	}
	if d.inner && mayTunnel[h.Proto] {
		d.tunnels.open(h, b.Data(i), f.WireLen, nil)
	}
	return h.Version == 0 && p.Read(b, i, h)
}

// SlowProtocols returns, by IP version (0 for IPv4, 1 for IPv6) and protocol number, which
// datagrams need the slow path: IPv6 extension headers, and tunnels if d opens them.
func (d *Decoder) SlowProtocols() *[2][256]bool {
	slow := [2][256]bool{1: iana.IsExtension}
	if d.inner {
		for number, may := range mayTunnel {
			slow[0][number] = may
			slow[1][number] = may || iana.IsExtension[number]
		}
	}
	return &slow
}

// The fast path takes nearly all frames: Ethernet, up to two VLAN tags, then IPv4 without
// options or IPv6 without extension headers, neither fragmented nor truncated before the
// ports. A CPU cannot predict the mix of versions and lengths. So tables have everything that depends
// on versions and lengths, and all checks together are a single branch.

const (
	fastTags = 2
	// fastReach is how many bytes of a frame, its tags removed, decodeFast may read, even
	// beyond the captured bytes. It is more than it needs, so that offsets from tables
	// need no check.
	fastReach = 63 + 4
)

// fastShape describes fast-path frames of an IP version with a number of tags. Offsets are as in
// a frame without tags.
type fastShape struct {
	bits, value uint64 // fixed bits of the first 8 bytes of IP, big-endian, and their values
	end         uint32 // where the datagram ends if its length field is 0
	least       uint32 // where it ends if the ports are the last of it
	typ         uint16
	size        uint8 // offset of the length field
	proto       uint8 // offset of the protocol
	ports       uint8 // offset of the ports
	header      Header
}

// fastShapes is indexed by twice the number of tags, plus 1 for IPv6.
var fastShapes = func() (all [2 * (fastTags + 1)]fastShape) {
	for i := range all {
		s, tags := &all[i], i/2
		start := 14 + 4*uint32(tags)
		h := Header{Start: start, Src: 6, Flags: FlagDst | FlagSrc}
		if tags > 0 {
			h.Tag, h.Tags, h.Flags = 14, uint8(tags), h.Flags|FlagVLAN
		}
		if i%2 == 0 {
			h.Version, h.L4 = 4, start+20
			*s = fastShape{
				bits: 0xff<<56 | 0x3fff, value: 0x45 << 56, end: start, least: start + 24,
				typ: iana.TypeIPv4, size: 14 + 2, proto: 14 + 9, ports: 14 + 20,
			}
		} else {
			h.Version, h.L4 = 6, start+40
			*s = fastShape{
				bits: 0xf0 << 56, value: 0x60 << 56, end: start + 40, least: start + 44,
				typ: iana.TypeIPv6, size: 14 + 4, proto: 14 + 6, ports: 14 + 40,
			}
		}
		s.header = h
	}
	return all
}()

// slowProtocol is a bit above the port mask: protocols with headers between IP and the
// ports.
const slowProtocol = 1 << 32

// fastProtocols has, for each version and protocol, iana.PortMask, or slowProtocol where the
// slow path is needed.
var fastProtocols = func() (all [2 * 256]uint64) {
	for i, mask := range iana.PortMask {
		all[i], all[256+i] = uint64(mask), uint64(mask)
		if iana.IsExtension[i] {
			all[256+i] = slowProtocol
		}
	}
	return all
}()

// decodeFast decodes Ethernet frames on the fast path, up to the first frame for the slow path. It
// returns how many it decoded. It leaves the last frames of a buffer to the slow path.
func decodeFast(h []Header, frames []capture.Frame, buf []byte) int {
	frames, buf = frames[:len(h)], buf[:len(buf):len(buf)]
	for i := range h {
		f := &frames[i]
		at := int(f.Data)
		if at+fastReach > len(buf) {
			return i
		}
		d := (*[fastReach]byte)(buf[at : at+fastReach])
		typ := binary.BigEndian.Uint16(d[12:])
		v, vlan := uint(typ>>15), uint16(0)
		shape := &fastShapes[v]
		if typ != shape.typ {
			tags, next := fastTagsOf(d)
			at += 4 * tags
			if tags == 0 || at+fastReach > len(buf) {
				return i
			}
			vlan = binary.BigEndian.Uint16(d[14:]) & 0xfff
			d = (*[fastReach]byte)(buf[at : at+fastReach])
			v = uint(next >> 15)
			shape = &fastShapes[2*uint(tags)+v]
		}
		word := binary.BigEndian.Uint64(d[14:])
		proto := d[shape.proto&63]
		masks := fastProtocols[(v<<8|uint(proto))%uint(len(fastProtocols))]
		size := int(shape.size & 63)
		end := min(shape.end+uint32(binary.BigEndian.Uint16(d[size:size+2])), f.CapLen)
		if word&shape.bits^shape.value|masks>>32 != 0 || end < shape.least {
			return i
		}
		ports := int(shape.ports & 63)
		both := bits.RotateLeft32(binary.BigEndian.Uint32(d[ports:ports+4])&uint32(masks), 16)
		p := &h[i]
		*p = shape.header
		p.End, p.VLAN, p.Proto = end, vlan, proto
		p.SrcPort, p.DstPort = uint16(both), uint16(both>>16)
	}
	return len(h)
}

// fastTagsOf counts the VLAN tags of a frame that lead to IP, and returns the ethertype behind
// them. tags is 0 for frames without tags, and for frames that the fast path does not take.
func fastTagsOf(d *[fastReach]byte) (tags int, typ uint16) {
	typ = binary.BigEndian.Uint16(d[12:])
	for tags < fastTags && iana.IsVLAN(typ) {
		tags++
		typ = binary.BigEndian.Uint16(d[12+4*tags:])
	}
	if typ != fastShapes[typ>>15].typ {
		return 0, typ
	}
	return tags, typ
}

// LinkRun returns the link type of the first frame, and the number of frames, from the first
// on, that have it. It panics without frames.
func LinkRun(frames []capture.Frame, interfaces []capture.Interface) (n int, link capture.LinkType) {
	link = interfaces[frames[0].Interface].LinkType
	if len(interfaces) == 1 {
		return len(frames), link
	}
	for n = 1; n < len(frames) && interfaces[frames[n].Interface].LinkType == link; n++ {
	}
	return n, link
}
