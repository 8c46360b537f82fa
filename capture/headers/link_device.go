// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// Link types whose frames begin with a header of the capturing device: a switch, a card or a
// router that captured them. No such header is part of an identity.

// deviceHeader reads such a header. Link types that are not listed lead nowhere.
func (w *walk) deviceHeader() step {
	switch w.link {
	case capture.LinkBRCM, capture.LinkDSA:
		return w.switchTag(4) // Linux, net/dsa/tag_brcm.c and tag_dsa.c
	case capture.LinkEDSA:
		return w.switchTag(8)
	case capture.LinkBRCMPrepend:
		return w.goTo(4, atEther)
	case capture.LinkEPON:
		return w.goTo(8, atEther) // the preamble of IEEE 802.3, clause 65.1
	case capture.LinkNetAnalyzer:
		return w.netAnalyzer(4)
	case capture.LinkNetAnalyzerT:
		return w.transparent()
	case capture.LinkERF:
		return w.erf()
	case capture.LinkJuniperEther, capture.LinkJuniperPPP, capture.LinkJuniperFR, capture.LinkJuniperCHDLC:
		return w.juniper()
	}
	return w.rareNetwork()
}

// netAnalyzer reads an Ethernet frame behind n bytes of the header of a Hilscher netANALYZER
// (Wireshark, packet-netanalyzer.c). A bit says that there is no frame, but an event. Frames
// have their check sequence.
func (w *walk) netAnalyzer(n int) step {
	const event, fcs = 1 << 8, 4
	if w.left() < n || binary.LittleEndian.Uint32(w.d[w.o:])&event != 0 {
		return stop
	}
	w.nonIP.fcs = fcs
	return w.goTo(n, atEther)
}

// transparent reads a frame of a netANALYZER in transparent mode, which has its preamble.
func (w *walk) transparent() step {
	const preamble, delimiter = 0x55, 0xd5 // IEEE 802.3, 3.2.1 and 3.2.2
	n := 4
	for n < w.left() && w.d[w.o+n] == preamble {
		n++
	}
	if n >= w.left() || w.d[w.o+n] != delimiter {
		return stop
	}
	return w.netAnalyzer(n + 1)
}

// Types of ERF records (Endace, "ERF types reference guide"; libpcap, pcap-dag.c).
const (
	erfHDLC, erfColorHDLC, erfDSMHDLC, erfHashHDLC                 = 1, 10, 15, 19
	erfEthernet, erfColorEthernet, erfDSMEthernet, erfHashEthernet = 2, 11, 16, 20
	erfIPv4, erfIPv6                                               = 22, 23
)

// erf reads the header of an extensible record: time, type, flags, and three numbers of which
// the last is the length on the wire. Extension headers of eight bytes follow while the top bit
// of a type is set.
func (w *walk) erf() step {
	const header, typeAt, wireAt, extension, more = 16, 8, 14, 8, 0x80
	if w.left() < header {
		return stop
	}
	typ, wire := w.d[w.o+typeAt], int(w.be16(wireAt))
	extended := typ & more
	for w.o += header; extended != 0; w.o += extension {
		if w.left() < extension {
			return stop
		}
		extended = w.d[w.o] & more
	}
	switch typ &^ more {
	case erfEthernet, erfColorEthernet, erfDSMEthernet, erfHashEthernet:
		w.o += 2 // offset and padding
		w.nonIP.limit(w.o + wire)
		return atEther
	case erfHDLC, erfColorHDLC, erfDSMHDLC, erfHashHDLC:
		return w.pppHDLC()
	case erfIPv4:
		return atIP4
	case erfIPv6:
		return atIP6
	}
	return w.unknown(unopenedLink, uint32(w.link))
}

// juniper reads the header that routers of Juniper put before captured packets: three letters,
// flags, and extensions if a flag says so, with their length (tcpdump, print-juniper.c). The
// link header may be missing; four bytes stand for it then.
func (w *walk) juniper() step {
	const magic, head = "MGC", 4
	const stripped, extended = 0x02, 0x80
	if w.left() < head || string(w.d[w.o:w.o+3]) != magic {
		return stop
	}
	flags := w.d[w.o+3]
	w.o += head
	if flags&extended != 0 {
		if w.left() < 2 {
			return stop
		}
		w.o += 2 + int(w.be16(0))
	}
	switch {
	case flags&stripped != 0:
		return w.goTo(4, atIP)
	case w.link == capture.LinkJuniperEther:
		return atEther
	case w.link == capture.LinkJuniperPPP:
		return atPPP
	case w.link == capture.LinkJuniperFR:
		return w.frameRelay()
	}
	return w.ciscoHDLC()
}

// Where the header of SYMANTEC_FIREWALL ends, and where it has an ethertype.
const symantecHeader, symantecType = 44, 6

// rareNetwork reads the headers of networks that are rarely met.
func (w *walk) rareNetwork() step {
	const fibreChannel, fireWire = 16, 18
	switch {
	case w.link == capture.LinkSymantec && w.left() >= symantecHeader: // Wireshark, packet-symantec.c
		w.typ = w.be16(symantecType)
		return w.goTo(symantecHeader, atType)
	case w.link == capture.LinkIPoverFC && w.left() >= fibreChannel: // RFC 2625, section 3.1
		w.addresses(2, 10)
		return w.goTo(fibreChannel, atLLC)
	case w.link == capture.LinkIEEE1394 && w.left() >= fireWire: // two addresses of 8 bytes
		return w.ethertypeAt(16)
	case w.link == capture.LinkARCNETLinux:
		return w.arcnetLinux()
	case w.link == capture.LinkSymantec, w.link == capture.LinkIPoverFC, w.link == capture.LinkIEEE1394:
		return stop
	}
	return w.unknown(unopenedLink, uint32(w.link))
}

// arcnetLinux reads source, destination, two bytes of offset, and the system code, as Linux
// writes them. A flag and a sequence number follow newer codes. Linux has put pieces together
// (tcpdump, print-arcnet.c).
func (w *walk) arcnetLinux() step {
	const old, newer = 5, 8
	if w.left() < old {
		return stop
	}
	switch w.d[w.o+4] {
	case 240: // RFC 1051
		return w.goTo(old, atIP4)
	case 212: // RFC 1201
		return w.goTo(newer, atIP4)
	case 196:
		return w.goTo(newer, atIP6)
	}
	return stop
}
