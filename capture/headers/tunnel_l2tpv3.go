// SPDX-License-Identifier: Apache-2.0

package headers

import "encoding/binary"

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

// frameOrIP weighs an Ethernet frame and IP at an offset, and returns the heavier one.
func (w *walk) frameOrIP(o int) (step, weight) {
	frame, _ := weighFrame(w.d, o, w.wireEnd())
	if ip := weighIP(w.d[o:], w.wireEnd()-int64(o)); ip > frame && canRead(w.d[o:]) {
		return atIP, ip
	}
	return atEther, frame
}
