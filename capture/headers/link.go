// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// linkHeader reads the header of a frame of link type w.link. Unlisted types lead
// nowhere.
func (w *walk) linkHeader() step {
	switch w.link {
	case capture.LinkEthernet:
		return atEther
	case capture.LinkRawDLT12, capture.LinkRawDLT14, capture.LinkRaw:
		return atIP
	case capture.LinkIPv4:
		return atIP4
	case capture.LinkIPv6:
		return atIP6
	case capture.LinkNull, capture.LinkLoop:
		return w.loopback()
	case capture.LinkLinuxSLL:
		return w.sll()
	case capture.LinkLinuxSLL2:
		return w.sll2()
	case capture.LinkPPP:
		return atPPP
	case capture.LinkPPPEther:
		return w.goTo(6, atPPP)
	case capture.LinkPPPWithDir:
		return w.goTo(1, atPPP)
	case capture.LinkPPPPPPD:
		return w.pppd()
	case capture.LinkPPPHDLC:
		return w.pppHDLC()
	case capture.LinkCHDLC:
		return w.ciscoHDLC()
	case capture.LinkCHDLCWithDir:
		w.o++
		return w.ciscoHDLC()
	case capture.LinkIEEE80211, capture.LinkRadiotap, capture.LinkPrism, capture.LinkAVS:
		return w.wireless()
	case capture.LinkIEEE802154, capture.LinkIEEE802154N, capture.LinkIEEE802154T:
		return w.personal()
	case capture.LinkPPI:
		return w.ppi()
	case capture.LinkPKTAP, capture.LinkUser2:
		return w.pktap()
	case capture.LinkNFLog, capture.LinkPFLog, capture.LinkEnc, capture.LinkIPNet:
		return w.hostLog()
	case capture.LinkFrameRelay, capture.LinkFRelayDir:
		return w.frameRelay()
	case capture.LinkATMRFC1483, capture.LinkSunATM:
		return w.atm()
	case capture.LinkMPLS:
		return atMPLS
	case capture.LinkFDDI, capture.LinkTokenRing, capture.LinkARCNET, capture.LinkIPoverIB:
		return w.legacyLAN()
	case capture.LinkEthernetMP:
		return w.mPacket()
	case capture.LinkSLIP:
		return w.slip()
	}
	return w.deviceHeader()
}

// loopback reads the address family that BSD systems put before packets: in the byte
// order of the machine for NULL, big-endian for LOOP. Some systems write PPP instead.
func (w *walk) loopback() step {
	if w.left() < 4 {
		return stop
	}
	d := w.d[w.o:]
	if d[0] == 0xff && d[1] == 3 {
		return atPPP
	}
	return w.goTo(4, familyStep(addressFamily(w.link, d)))
}

// addressFamily reads the address family before a packet.
func addressFamily(link capture.LinkType, d []byte) uint32 {
	family := binary.BigEndian.Uint32(d)
	if link == capture.LinkNull {
		family = min(family, binary.LittleEndian.Uint32(d))
	}
	return family
}

// familyStep returns the step for an address family. IPv6 has a different number on each
// system: Linux, NetBSD and OpenBSD, FreeBSD, macOS.
func familyStep(family uint32) step {
	switch family {
	case 2:
		return atIP4
	case 10, 24, 28, 30:
		return atIP6
	}
	return stop
}

const (
	protocol8022    = 4   // Linux's number for 802.2 frames in cooked captures
	protocol8023    = 1   // and for Novell's 802.3 frames without 802.2
	hardwareEther   = 1   // ARPHRD_ETHER
	hardwareNetlink = 824 // ARPHRD_NETLINK: the type field is a netlink family
)

// sll reads the header of Linux cooked captures, version 1.
func (w *walk) sll() step {
	if w.left() < 16 {
		return stop
	}
	w.sourceMAC(int(w.be16(4)), 6)
	return w.cooked(w.be16(14), w.be16(2), 16)
}

// sll2 reads the header of Linux cooked captures, version 2.
func (w *walk) sll2() step {
	if w.left() < 20 {
		return stop
	}
	w.sourceMAC(int(w.d[w.o+11]), 12)
	return w.cooked(w.be16(0), w.be16(8), 20)
}

// sourceMAC records the source address of a cooked header. Of addresses longer than 6
// bytes, the header has only the start.
func (w *walk) sourceMAC(length, src int) {
	switch length {
	case 0: // point to point
		w.nonIP.known, w.nonIP.dst, w.nonIP.src = true, none, none
	case 6:
		w.addresses(-1, src)
	}
}

func (w *walk) cooked(protocol, hardware uint16, length int) step {
	w.o += length
	w.typ = protocol
	w.nonIP.body = w.o
	switch {
	case protocol == protocol8022:
		return atLLC
	case protocol == protocol8023 || hardware == hardwareNetlink:
		return stop
	case protocol > maxLength || hardware == hardwareEther:
		at := w.o
		if w.cookedTags(cookedTags(w.d, protocol, at, w.end)); w.typ <= maxLength && w.o > at {
			return w.sized(0, w.typ)
		}
	}
	return atType
}

// pppd reads packets that pppd logs: the direction of the packet replaces the address field,
// or precedes it.
func (w *walk) pppd() step {
	if w.left() >= 2 && w.d[w.o+1] == 3 {
		return w.goTo(2, atPPP)
	}
	return w.goTo(1, atPPP)
}

// pppHDLC reads PPP in HDLC-like framing. Cisco HDLC has the same link type; its address
// field is 0x0f or 0x8f.
func (w *walk) pppHDLC() step {
	if w.left() >= 4 && w.d[w.o]&0x7f == 0x0f {
		return w.ciscoHDLC()
	}
	return atPPP
}

// ciscoHDLC reads an address, a control byte and an ethertype.
func (w *walk) ciscoHDLC() step {
	if w.left() < 4 {
		return stop
	}
	return w.ethertypeAt(2)
}

// slip reads the header that libpcap writes before SLIP packets: direction, compression
// state, and 14 bytes of the compressed header. Packets with a compressed TCP header (RFC
// 1144) have no IP header.
func (w *walk) slip() step {
	const compressed = 0x80
	if w.left() < 16 || w.d[w.o+1]&compressed != 0 {
		return stop
	}
	return w.goTo(16, atIP)
}

// legacyLAN reads the headers of local networks other than Ethernet.
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

// arcnet reads source, destination and system code as BSD writes them. With the newer
// codes (RFC 1201), a split flag and a sequence number follow; exception frames have four
// more bytes before these. RFC 1051 has neither.
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

// mPacket reads the preamble of IEEE 802.3br. An Ethernet header follows in express
// frames and in the first fragments of preemptable frames.
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

// Network layer protocol identifiers (ISO/IEC TR 9577).
const (
	nlpidSNAP = 0x80
	nlpidIPv6 = 0x8e
	nlpidIPv4 = 0xcc
	nlpidPPP  = 0xcf // RFC 1973
)

// frameRelay reads a Q.922 address and the RFC 2427 header after it: a control byte,
// padding, and a protocol identifier. Cisco's encapsulation has an ethertype instead.
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

// plainNLPID reports whether a protocol identifier is known to carry no IP: the null layer, Q.933,
// and CLNP, ES-IS and IS-IS (ISO/IEC TR 9577, annex C).
func plainNLPID(id byte) bool { return id == 0 || id == 8 || id >= 0x81 && id <= 0x83 }

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
		return stop
	}
	if !plainNLPID(id) {
		return w.unknown(unopenedNLPID, uint32(id))
	}
	return stop
}

// atm reads reassembled AAL5 frames: 802.2 as in RFC 2684, or LAN emulation if SunATM's
// header before it says so.
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
	return atLLC
}
