// SPDX-License-Identifier: Apache-2.0

package headers

import "encoding/binary"

// Protocols of PPP that lead to IP (IANA, "PPP DLL Protocol Numbers").
const (
	pppIPv4      = 0x0021
	pppMultilink = 0x003d
	pppIPv6      = 0x0057
	pppMPLS      = 0x0281
)

// plainPPP reports whether a PPP protocol is known to carry no IP packet of its own (IANA,
// "PPP DLL Protocol Numbers"): link and network control, and other network protocols.
func plainPPP(protocol uint16) bool {
	switch protocol {
	case 0x0023, 0x0025, 0x0027, 0x0029, 0x002b, 0x0035, 0x003f, 0x0201, 0x0203, 0x0205:
		return true
	}
	return protocol >= 0x8000
}

// pppProtocol reads the protocol field of PPP at offset o, compressed or not, with or without
// the address and control fields before it (RFC 1661, RFC 1662). It returns the offset of the
// packet. ok is false if the field was not captured.
func pppProtocol(d []byte, o int) (protocol uint16, at int, ok bool) {
	if o+2 <= len(d) && binary.BigEndian.Uint16(d[o:]) == 0xff03 {
		o += 2
	}
	switch {
	case o < len(d) && d[o]&1 != 0:
		return uint16(d[o]), o + 1, true
	case o+2 <= len(d):
		return binary.BigEndian.Uint16(d[o:]), o + 2, true
	}
	return 0, o, false
}

// ppp reads the protocol field of PPP.
func (w *walk) ppp() step {
	if w.left() < 2 {
		return stop
	}
	protocol, at, ok := pppProtocol(w.d, w.o)
	if !ok {
		return stop
	}
	w.o = at
	switch protocol {
	case pppIPv4:
		return atIP4
	case pppIPv6:
		return atIP6
	case pppMPLS:
		return atMPLS
	case pppMultilink:
		return w.multilink()
	}
	if !plainPPP(protocol) {
		return w.unknown(unopenedPPP, uint32(protocol))
	}
	return stop
}

// multilink reads the header of a fragment of PPP multilink (RFC 1990, section 3), which has a
// sequence number of 24 bits, or of 12 where both ends agreed on that before. A fragment that is
// a whole packet leads on.
func (w *walk) multilink() step {
	const long, short = 4, 2
	const whole, reservedLong, reservedShort = 0xc0, 0x3f, 0x30
	if w.left() < short {
		return stop
	}
	flags := w.d[w.o]
	switch {
	case flags&whole != whole:
		return w.unknown(unopenedMultilink, 0)
	case flags&reservedShort != 0:
		return stop
	case flags&reservedLong != 0 || w.weighPPP(short) > w.weighPPP(long):
		return w.goTo(short, atPPP)
	}
	return w.goTo(long, atPPP)
}

// weighPPP weighs that a PPP protocol field n bytes after the offset leads to IP.
func (w *walk) weighPPP(n int) weight {
	protocol, at, ok := pppProtocol(w.d, w.o+n)
	if !ok || at >= len(w.d) || protocol != pppIPv4 && protocol != pppIPv6 || pppOf[w.d[at]>>4] != protocol || !canRead(w.d[at:]) {
		return impossible
	}
	return weighIP(w.d[at:], w.wireEnd()-int64(at))
}

// pppOf has the protocols of IP by the first four bits of its header.
var pppOf = [16]uint16{4: pppIPv4, 6: pppIPv6}
