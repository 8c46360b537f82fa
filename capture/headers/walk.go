// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// step is the kind of header at the offset of a walk.
type step uint8

const (
	stop    step = iota // nothing that leads to an IP header
	atLink              // a frame of walk.link
	atEther             // an Ethernet header
	atType              // the header that the ethertype in walk.typ announces
	atLLC               // an 802.2 header
	atPPP
	atMPLS
	atIP // IPv4 or IPv6 by the version field
	atIP4
	atIP6
)

// walk reads the headers of a frame from the outside in. Every step moves the offset
// forward, so the number of steps is linear in the length of the frame. Steps return the
// next step instead of calling it: otherwise a frame could choose the depth of the stack. It
// has 128 bytes, on systems of 64 bits: a larger struct is cleared and copied in a slower way.
type walk struct {
	d         []byte // the bytes that may be read
	o         int    // the offset reached; may lie beyond the end of d
	h         *Header
	link      capture.LinkType
	end       uint32 // where d ended before it was truncated; less than its length if that is not known
	unopened  Unopened
	typ       uint16
	bigEndian bool // byte order of the machine that wrote the capture
	bridgePad bool // bridged frames in 802.2 are preceded by two bytes (ATM)
	wifiPad   bool // the 802.11 header is padded to a multiple of 4 bytes
	noIP      bool // an IP header was announced, and cannot be read
	doubt     doubt
	belief    int8 // weight of the tunnel's header
	frame     int  // offset of the first Ethernet header, -1 if none was met
	nonIP     nonIP
	notes     *notes // where headers are noted, or nil
}

// readFrame describes frame i of b in h, and notes its headers in n unless that is nil.
func readFrame(h *Header, b *capture.Batch, i int, n *notes) walk {
	f := &b.Frames[i]
	iface := &b.Interfaces[f.Interface]
	*h = Header{}
	var w walk // filled field by field: a literal would be copied
	w.d, w.h, w.frame, w.notes = b.Data(i), h, -1, n
	w.link, w.bigEndian = iface.LinkType, b.Sections[iface.Section].BigEndian
	w.end = f.WireLen
	n.begin()
	w.run(atLink)
	n.end(&w, uint64(f.WireLen))
	if h.Version == 0 {
		h.Start, h.End, h.Wire = 0, f.CapLen, f.WireLen
	}
	return w
}

// run takes steps until the Header describes an IP header or there is none.
func (w *walk) run(s step) {
	for {
		switch s {
		case atLink:
			s = w.linkHeader()
		case atEther:
			s = w.ether()
		case atType:
			s = w.etherType()
		case atLLC:
			s = w.llc()
		case atPPP:
			s = w.ppp()
		case atMPLS:
			s = w.mpls()
		case atIP, atIP4, atIP6:
			w.ip(s)
			return
		default:
			return
		}
	}
}

// left returns the number of bytes from the offset on. It is negative if the offset lies
// beyond the end.
func (w *walk) left() int { return len(w.d) - w.o }

// wireEnd returns the offset at which the packet ends, on the wire or as its headers state.
func (w *walk) wireEnd() int64 { return max(int64(w.end), int64(len(w.d))) }

// be16 returns the big-endian number n bytes after the offset.
func (w *walk) be16(n int) uint16 { return binary.BigEndian.Uint16(w.d[w.o+n:]) }

// goTo moves the offset forward by n bytes and returns s.
func (w *walk) goTo(n int, s step) step {
	w.o += n
	return s
}

// ethertypeAt reads the ethertype n bytes after the offset, and moves the offset behind
// it.
func (w *walk) ethertypeAt(n int) step {
	w.typ = w.be16(n)
	return w.goTo(n+2, atType)
}

// addresses records where hardware addresses lie, counted from the offset; -1 means none.
// The Header keeps the outermost addresses; frames without IP are compared by the innermost.
func (w *walk) addresses(dst, src int) {
	w.nonIP.addresses(w, dst, src)
	if w.h.Flags&(FlagDst|FlagSrc) != 0 {
		return
	}
	if p := w.o + dst; dst >= 0 && p+6 <= len(w.d) && p <= math.MaxUint16 {
		w.h.Dst = uint16(p)
		w.h.Flags |= FlagDst
	}
	if p := w.o + src; src >= 0 && p+6 <= len(w.d) && p <= math.MaxUint16 {
		w.h.Src = uint16(p)
		w.h.Flags |= FlagSrc
	}
}

// ip describes the IP header at the offset in the Header, if it has the version that s
// asks for, and notes if it has not, or was not captured whole.
func (w *walk) ip(s step) {
	if s != atIP6 && w.h.ip4(w.d, w.o) || s != atIP4 && w.h.ip6(w.d, w.o) {
		w.note(LayerIP, 0, int(w.h.End-w.h.Start), 0)
		return
	}
	w.noIP = true
	if w.left() < 1 {
		return
	}
	// A packet that ends within the header of its version was truncated.
	switch version := w.d[w.o] >> 4; {
	case s != atIP6 && version == 4 && w.left() < 20, s != atIP4 && version == 6:
	case s == atIP4:
		w.unknown(unopenedType, iana.TypeIPv4)
	case s == atIP6:
		w.unknown(unopenedType, iana.TypeIPv6)
	default:
		w.unknown(unopenedLink, uint32(w.link))
	}
}
