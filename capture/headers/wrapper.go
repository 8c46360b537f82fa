// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"hash/crc32"
	"math"

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

// carried records that the frame which was on the wire, or on the air, begins at the
// offset.
func (w *walk) carried() {
	w.nonIP.start, w.nonIP.behind = uint32(min(uint64(w.o), math.MaxUint32)), true
}

// HasCaptureHeader reports whether frames of a link type begin with a header of the capture
// and continue with a whole frame of another link type. A cooked header replaces the link
// header and does not count.
func HasCaptureHeader(link capture.LinkType) bool {
	switch link {
	case capture.LinkRadiotap, capture.LinkPrism, capture.LinkAVS, capture.LinkPPI, capture.LinkPKTAP, capture.LinkUser2,
		capture.LinkIEEE802154T:
		return true
	}
	return false
}

// CaptureHeader returns the length of the capture's own header before frame i of b: radiotap,
// Prism, AVS, PPI, PKTAP and 802.15.4 TAP. It returns 0 if that is damaged. It panics if b has
// no frame i.
func CaptureHeader(b *capture.Batch, i int) uint32 {
	if !HasCaptureHeader(b.Interfaces[b.Frames[i].Interface].LinkType) {
		return 0
	}
	var h Header
	w := readFrame(&h, b, i, nil)
	return min(w.nonIP.start, uint32(len(w.d)))
}

// fcsLen is the length of the frame check sequence of Ethernet and 802.11.
const fcsLen = 4

// checkSequence returns the length of the frame check sequence at the end of a frame, which
// begins with start bytes of a header, if it was captured whole and the sequence is right.
func checkSequence(d []byte, start int, wire uint32) uint8 {
	n := len(d) - fcsLen
	if n < start || wire > uint32(len(d)) || crc32.ChecksumIEEE(d[start:n]) != binary.LittleEndian.Uint32(d[n:]) {
		return 0
	}
	return fcsLen
}
