package flow

import "github.com/flowdedup/flowdedup/capture"

// Network layer protocol identifiers (ISO/IEC TR 9577).
const (
	nlpidSNAP = 0x80
	nlpidIPv6 = 0x8e
	nlpidIPv4 = 0xcc
	nlpidPPP  = 0xcf // RFC 1973
)

// frameRelay reads a Q.922 address and what RFC 2427 puts after it: a control
// byte, padding, and a protocol identifier. Cisco's own encapsulation has an
// ethertype there.
func (w *walk) frameRelay() step {
	if w.link == capture.LinkFRelayDir {
		w.o++
	}
	for n := 1; ; n++ { // the last byte of the address has its low bit set
		if w.left() < 1 || n > 4 {
			return stop
		}
		w.o++
		if w.d[w.o-1]&1 != 0 {
			break
		}
	}
	if w.left() < 2 {
		return stop
	}
	const unnumbered = 0x03
	if w.d[w.o] != unnumbered {
		return w.ethertypeAt(0)
	}
	w.o++
	if w.d[w.o] == 0 { // padding to an even offset
		w.o++
	}
	return w.nlpid()
}

// nlpid reads a network layer protocol identifier.
func (w *walk) nlpid() step {
	if w.left() < 1 {
		return stop
	}
	id := w.d[w.o]
	w.o++
	switch id {
	case nlpidIPv4:
		return atIP4
	case nlpidIPv6:
		return atIP6
	case nlpidPPP:
		return atPPP
	case nlpidSNAP:
		if w.left() >= 5 {
			return w.snap()
		}
	}
	return stop
}

// atm reads reassembled AAL5 frames: 802.2 as in RFC 2684, or LAN emulation
// where SunATM's header before it says so.
func (w *walk) atm() step {
	w.bridgePad = true
	if w.link == capture.LinkSunATM {
		const header, lane = 4, 1
		if w.left() < header {
			return stop
		}
		if w.d[w.o]&0x0f == lane { // two bytes of LAN emulation client identifier
			return w.goTo(header+2, atEther)
		}
		w.o += header
	}
	if w.left() >= 3 && w.be16(0) == 0xfefe && w.d[w.o+2] == 3 { // routed ISO, RFC 2684
		w.o += 3
		return w.nlpid()
	}
	return atLLC
}
