package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// l2tp reads the header of an L2TP data message (RFC 2661, section 3.1). The length counts
// from the start of the header. The identifier has the tunnel in its upper and the session
// in its lower half.
func (w *walk) l2tp() (s step, length int) {
	const control, hasLength, hasSequence, hasOffset = 0x8000, 0x4000, 0x0800, 0x0200
	const reserved, version = 0x34f0, 2
	w.doubtful = true
	if w.left() < 2 {
		return stop, 0
	}
	start, flags := w.o, w.be16(0)
	if flags&(control|reserved) != 0 || flags&15 != version {
		return stop, 0
	}
	w.o += 2
	length = 1 << 16 // without a length field, what UDP says
	if flags&hasLength != 0 && w.left() >= 2 {
		length = int(w.be16(0))
		w.o += 2
	}
	if w.left() < 4 {
		return stop, 0
	}
	id := binary.BigEndian.Uint32(w.d[w.o:])
	w.o += 4
	if flags&hasSequence != 0 {
		w.o += 4
	}
	if flags&hasOffset != 0 && w.left() >= 2 {
		w.o += 2 + int(w.be16(0))
	}
	if w.left() < 0 {
		return stop, 0
	}
	w.noteBehind(LayerL2TP, start, id)
	return atPPP, length
}

// lisp reads the header of a LISP data packet (RFC 9300, section 5.1). With the bit of
// RFC 9305, section 3, the last byte of its first word names a protocol.
func (w *walk) lisp() step {
	const header, hasInstance, hasProtocol = 8, 0x08, 0x04
	w.doubtful = true
	if w.left() < header {
		return stop
	}
	id, next := uint32(0), w.d[w.o+3]
	if w.d[w.o]&hasInstance != 0 {
		id = w.id24()
	}
	w.note(LayerLISP, 0, header, id)
	named := w.d[w.o]&hasProtocol != 0
	w.o += header
	if named {
		return w.nextProtocol(next)
	}
	return atIP
}

// jmirror reads the header that Juniper's routers put before the packets that they mirror
// to a mediation device: the identifiers of an intercept and of a session, of four bytes
// each (Junos OS, "Packet header for mirrored traffic"; Wireshark's packet-jmirror.c).
func (w *walk) jmirror() step {
	const header = 8
	w.doubtful = true
	if w.left() < header {
		return stop
	}
	w.note(LayerJMirror, 0, header, binary.BigEndian.Uint32(w.d[w.o:]))
	return w.goTo(header, atIP)
}

// tzsp reads the header of TZSP.
func (w *walk) tzsp() step {
	in, err := ReadTZSP(w.d[w.o:])
	if err != nil {
		w.doubtful = true
		return stop
	}
	w.note(LayerTZSP, 0, in.At, 0)
	if in.Link == capture.LinkEthernet {
		return w.goTo(in.At, atEther)
	}
	w.link = in.Link
	return w.goTo(in.At, atLink)
}
