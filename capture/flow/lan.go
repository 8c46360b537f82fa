package flow

import "github.com/flowdedup/flowdedup/capture"

// legacyLAN reads the headers of networks that came before or beside Ethernet.
func (w *walk) legacyLAN() step {
	switch w.link {
	case capture.LinkFDDI:
		return w.fddi()
	case capture.LinkTokenRing:
		return w.tokenRing()
	case capture.LinkARCNET:
		return w.arcnet()
	default:
		return w.infiniBand()
	}
}

// fddi reads a frame control byte and two addresses (ISO 9314-2).
func (w *walk) fddi() step {
	const header, llcFrame = 13, 0x50
	if w.left() < header || w.d[w.o]&0xf0 != llcFrame {
		return stop
	}
	w.addresses(1, 7)
	return w.goTo(header, atLLC)
}

// tokenRing reads access control, frame control, two addresses, and the
// route that the top bit of the source address announces (IEEE 802.5).
func (w *walk) tokenRing() step {
	const header, llcFrame = 14, 0x40
	if w.left() < header || w.d[w.o+1]&0xc0 != llcFrame {
		return stop
	}
	w.addresses(2, 8)
	if w.d[w.o+8]&0x80 == 0 {
		return w.goTo(header, atLLC)
	}
	if w.left() < header+1 {
		return stop
	}
	return w.goTo(header+int(w.d[w.o+header]&0x1f), atLLC)
}

// arcnet reads source, destination and system code as BSD writes them. With
// the newer codes (RFC 1201) a split flag and a sequence number follow, behind
// four more bytes in exception frames; RFC 1051 has nothing of that.
func (w *walk) arcnet() step {
	const header = 3
	if w.left() < header+1 {
		return stop
	}
	var s step
	switch w.d[w.o+2] {
	case 240: // RFC 1051
		return w.goTo(header, atIP4)
	case 212:
		s = atIP4
	case 196:
		s = atIP6
	default:
		return stop
	}
	flag, n := w.d[w.o+header], header+3
	if flag == 0xff {
		if w.left() < header+5 {
			return stop
		}
		flag, n = w.d[w.o+header+4], n+4
	}
	if flag > 1 && flag&1 == 0 { // a later piece; the first has an odd flag
		return stop
	}
	return w.goTo(n, s)
}

// infiniBand reads the pseudo header of IP over InfiniBand: two addresses of 20
// bytes, the ethertype, and two reserved bytes (RFC 4391).
func (w *walk) infiniBand() step {
	const header = 44
	if w.left() < header {
		return stop
	}
	w.typ = w.be16(40)
	return w.goTo(header, atType)
}

// mPacket reads the preamble of IEEE 802.3br: express frames and the first
// fragments of preemptable frames go on with an Ethernet header.
func (w *walk) mPacket() step {
	const preamble = 8
	if w.left() < preamble {
		return stop
	}
	switch w.d[w.o+preamble-1] {
	case 0xd5, 0xe6, 0x4c, 0x7f, 0xb3: // SMD-E, SMD-S0 to SMD-S3
		return w.goTo(preamble, atEther)
	}
	return stop
}
