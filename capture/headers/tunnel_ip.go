// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// authenticated reads the authentication header at the start of d (RFC 4302, section 2).
// It returns the protocol behind it and its length.
func authenticated(d []byte) (next uint8, length int) {
	if len(d) < 2 {
		return iana.ProtoNoNext, 0
	}
	return d[0], 4 * (2 + int(d[1]))
}

// etherIP reads an EtherIP header (RFC 3378, section 3). MikroTik's EoIP over IPv6 has the
// number of the tunnel in the reserved bits.
func (w *walk) etherIP() step {
	const header, version = 2, 3
	if w.left() < header || w.d[w.o]>>4 != version {
		return stop
	}
	w.note(LayerEtherIP, 0, header, uint32(w.be16(0)&0xfff))
	return w.goTo(header, atEther)
}

// eoip reads the GRE header of MikroTik's EoIP. As in PPTP, the upper half of the key is
// the length of the payload. The lower half is the number of the tunnel, and
// little-endian: see eoip.h of github.com/bbonev/eoip, or gre.c of tcpdump, which names
// the type.
func (w *walk) eoip(flags uint16) (s step, length int) {
	const header = 8
	if flags != greKey|1 || w.left() < header {
		return stop, -1
	}
	length = header + int(w.be16(4))
	w.note(LayerEoIP, 0, header, uint32(binary.LittleEndian.Uint16(w.d[w.o+6:])))
	return w.goTo(header, atEther), length
}

// redirected skips the redirect header of WCCP version 2, which lies between GRE and IP
// (draft-mclaggan-wccp-v2rev1, section 4.12.3). Version 1 has none. The first byte of
// the header has nothing but two flags, so it is no start of an IPv4 header.
func (w *walk) redirected() {
	const header = 4
	if w.left() > 0 && (w.d[w.o]>>4 != 4 || w.d[w.o]&15 < 5) {
		w.o += header
	}
}

// isARP reports whether d begins as ARP for IPv4 on Ethernet does (RFC 826).
func isARP(d []byte) bool {
	return len(d) >= 8 && binary.BigEndian.Uint64(d)>>16 == 0x0001_0800_0604
}

// L2TP of version 3 does not say what a session carries, nor how long its cookie is: both ends
// have agreed on that before (RFC 3931, sections 4.1 and 4.6). What follows decides.

// l2tpv3UDP reads the header of a data message over UDP (RFC 3931, section 4.1.2.1).
func (w *walk) l2tpv3UDP() step {
	const header = 4
	if w.left() < header || w.be16(2) != 0 {
		return stop
	}
	w.o += header
	return w.l2tpv3()
}

// l2tpv3 reads the header of a data message over IP (RFC 3931, section 4.1.1.1). Session 0 is for
// control messages.
func (w *walk) l2tpv3() step {
	const header = 4
	if w.left() < header {
		return stop
	}
	start, session := w.o, binary.BigEndian.Uint32(w.d[w.o:])
	if session == 0 {
		return w.control()
	}
	w.doubt = certain
	w.o += header
	s := w.pseudowire()
	if s == stop {
		return w.unknown(unopenedTunnel, uint32(LayerL2TPv3))
	}
	w.noteBehind(LayerL2TPv3, start, session)
	return s
}

// pseudowire goes to the frame or packet behind a cookie of 0, 4 or 8 bytes and perhaps a sublayer
// of 4 bytes, and returns how to read it: in the heaviest way.
func (w *walk) pseudowire() step {
	const most, ways = 12, 4 // the places and readings that random data could fit have 4 bits
	best, at, s := leastInTunnel+ways-1, 0, stop
	for n := 0; n <= most && n < w.left(); n += 4 {
		step, weight := w.frameOrIP(w.o + n)
		if ppp := w.weighPPP(n); ppp > weight {
			step, weight = atPPP, ppp
		}
		if weight > best {
			best, at, s = weight, n, step
		}
	}
	w.o += at
	return s
}

// frameOrIP weighs an Ethernet frame and IP at an offset, and returns the heavier.
func (w *walk) frameOrIP(o int) (step, weight) {
	frame, _ := weighFrame(w.d, o, w.wireEnd())
	if ip := weighIP(w.d[o:], w.wireEnd()-int64(o)); ip > frame && canRead(w.d[o:]) {
		return atIP, ip
	}
	return atEther, frame
}
