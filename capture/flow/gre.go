package flow

// Bits of the first two bytes of a GRE header (RFC 2784, RFC 2890, RFC 2637).
const (
	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greAck      = 0x0080
	greVersion  = 0x0007
)

// gre reads a GRE header of version 0, or of version 1 as PPTP has it. The
// length is known for PPTP, and counts from the start of the header.
func (w *walk) gre() (s step, length int) {
	if w.left() < 4 {
		return stop, -1
	}
	flags, typ := w.be16(0), w.be16(2)
	switch flags & greVersion {
	case 0:
		return w.gre0(flags, typ), -1
	case 1:
		return w.pptp(flags, typ)
	}
	return stop, -1
}

func (w *walk) gre0(flags, typ uint16) step {
	w.o += 4
	for _, field := range [...]uint16{greChecksum | greRouting, greKey, greSequence} {
		if flags&field != 0 {
			w.o += 4
		}
	}
	if flags&greRouting != 0 && !w.greRoutes() {
		return stop
	}
	switch typ {
	case typeERSPAN2:
		if flags&greSequence == 0 { // type I, which has no header
			return atEther
		}
		return w.goTo(8, atEther)
	case typeERSPAN3:
		return w.erspan3()
	case typePPP:
		return atPPP
	}
	w.typ = typ
	return atType
}

// greRoutes skips the source route entries of RFC 1701, which end with an
// empty one.
func (w *walk) greRoutes() bool {
	for w.left() >= 4 {
		family, length := w.be16(0), w.d[w.o+3]
		w.o += 4 + int(length)
		if family == 0 && length == 0 {
			return true
		}
	}
	return false
}

// pptp reads the enhanced GRE header of RFC 2637, section 4.1. The first word of
// its key is the length of the payload.
func (w *walk) pptp(flags, typ uint16) (s step, length int) {
	header := 8
	if flags&greSequence != 0 {
		header += 4
	}
	if flags&greAck != 0 {
		header += 4
	}
	if flags&greKey == 0 || typ != typePPP || w.left() < header {
		return stop, -1
	}
	length = header + int(w.be16(4))
	return w.goTo(header, atPPP), length
}

// erspan3 reads the header of ERSPAN type III (draft-foschiano-erspan): twelve
// bytes, and eight more with the last bit set.
func (w *walk) erspan3() step {
	const header, subheader = 12, 8
	const frameEthernet, frameIP = 0, 2
	if w.left() < header {
		return stop
	}
	last := w.be16(10)
	w.o += header
	if last&1 != 0 {
		w.o += subheader
	}
	switch last >> 10 & 0x1f {
	case frameEthernet:
		return atEther
	case frameIP:
		return atIP
	}
	return stop
}
