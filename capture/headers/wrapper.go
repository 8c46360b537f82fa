// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// ppi skips a per-packet information header (CACE Technologies, "PPI: Per-Packet Information
// Header Specification", version 1.0.7), which names the link type of the packet behind it.
func (w *walk) ppi() step {
	const minimum = 8
	if w.left() < minimum {
		return stop
	}
	d := w.d[w.o:]
	length := int(binary.LittleEndian.Uint16(d[2:]))
	if length < minimum || length > len(d) {
		return stop
	}
	w.link = capture.LinkType(binary.LittleEndian.Uint32(d[4:]))
	if ppiHasFCS(d[:length]) {
		w.nonIP.fcs = 4
	}
	w.o += length
	w.carried()
	return atLink
}

// ppiHasFCS looks among the fields of a header for the field of 802.11, whose flags say
// whether a frame check sequence follows the frame (section 4.1.2).
func ppiHasFCS(d []byte) bool {
	const header, head, common, flags, hasFCS, aligned = 8, 4, 2, 8, 1, 1
	for o := header; o+head <= len(d); {
		kind, n := binary.LittleEndian.Uint16(d[o:]), int(binary.LittleEndian.Uint16(d[o+2:]))
		o += head
		if kind == common && n > flags && o+flags < len(d) {
			return d[o+flags]&hasFCS != 0
		}
		if o += n; d[1]&aligned != 0 {
			o = (o + 3) &^ 3
		}
	}
	return false
}

// pktap skips the header of macOS's PKTAP, which names the link type of the packet behind it.
// Records without a packet lead nowhere.
func (w *walk) pktap() step {
	const minimum, packet = 108, 1
	if w.left() < minimum {
		return stop
	}
	d := w.d[w.o:]
	length := binary.LittleEndian.Uint32(d)
	if length < minimum || uint64(length) > uint64(len(d)) || binary.LittleEndian.Uint32(d[4:]) != packet {
		return stop
	}
	w.link = capture.LinkType(binary.LittleEndian.Uint32(d[8:]))
	w.o += int(length)
	w.carried()
	return atLink
}

// hostLog reads the headers of packets that the network stack of a host has logged.
func (w *walk) hostLog() step {
	switch w.link {
	case capture.LinkNFLog:
		return w.nflog()
	case capture.LinkPFLog:
		return w.pflog()
	case capture.LinkEnc:
		return w.goTo(12, atIP) // address family, SPI and flags
	default:
		return w.ipnet()
	}
}

// nflog looks for the packet among the attributes of a netfilter log message.
func (w *walk) nflog() step {
	const header, payload, typeBits = 4, 9, 0x7fff
	if w.left() < header {
		return stop
	}
	family := uint32(w.d[w.o])
	w.o += header
	for w.left() >= header {
		length := int(w.host16(0))
		if length < header || length > w.left() {
			return stop
		}
		if w.host16(2)&typeBits == payload {
			w.d = w.d[:w.o+length]
			if s := familyStep(family); s != stop {
				return w.goTo(header, s)
			}
			return w.goTo(header, atIP)
		}
		w.o += (length + 3) &^ 3
	}
	return stop
}

// host16 returns the number n bytes after the offset in the byte order of the
// machine that wrote the capture.
func (w *walk) host16(n int) uint16 {
	if w.bigEndian {
		return w.be16(n)
	}
	return binary.LittleEndian.Uint16(w.d[w.o+n:])
}

// pflog skips the header of OpenBSD's packet filter log. Its length field does not count
// the padding to four bytes.
func (w *walk) pflog() step {
	const minimum = 45
	if w.left() < minimum || w.d[w.o] < minimum {
		return stop
	}
	return w.goTo((int(w.d[w.o])+3)&^3, familyStep(uint32(w.d[w.o+1])))
}

// ipnet skips the header of Solaris's IPNET: version, family, hook, length,
// two interface indices and two zones.
func (w *walk) ipnet() step {
	const header = 24
	if w.left() < header {
		return stop
	}
	switch w.d[w.o+1] {
	case 2:
		return w.goTo(header, atIP4)
	case 26:
		return w.goTo(header, atIP6)
	}
	return stop
}
