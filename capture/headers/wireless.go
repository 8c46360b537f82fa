// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// wireless reads 802.11 frames and the headers that capture drivers put before them.
func (w *walk) wireless() step {
	switch w.link {
	case capture.LinkRadiotap:
		return w.radiotap()
	case capture.LinkPrism:
		return w.prism()
	case capture.LinkAVS:
		return w.avs()
	}
	return w.wifi(false)
}

// radiotap skips a radiotap header (https://www.radiotap.org). Its flags say whether the
// 802.11 header is padded and whether a frame check sequence follows.
func (w *walk) radiotap() step {
	const minimum = 8
	if w.left() < minimum || w.d[w.o] != 0 {
		return stop
	}
	d := w.d[w.o:]
	length := int(binary.LittleEndian.Uint16(d[2:]))
	if length < minimum || length > len(d) {
		return stop
	}
	flags := radiotapFlags(d[:length])
	w.wifiPad = flags&0x20 != 0
	if flags&0x10 != 0 {
		w.nonIP.fcs = 4
	}
	w.o += length
	return w.wifi(false)
}

// radiotapFlags returns the flags field, 0 if there is none. Only the timestamp, eight
// aligned bytes, can come before it.
func radiotapFlags(d []byte) byte {
	const more, hasTime, hasFlags = 1 << 31, 1 << 0, 1 << 1
	present := binary.LittleEndian.Uint32(d[4:])
	o := 8
	for word := present; word&more != 0; o += 4 {
		if o+4 > len(d) {
			return 0
		}
		word = binary.LittleEndian.Uint32(d[o:])
	}
	if present&hasTime != 0 {
		o = (o+7)&^7 + 8
	}
	if present&hasFlags == 0 || o >= len(d) {
		return 0
	}
	return d[o]
}

// avsMagic is the version of the AVS header without the last bits.
const avsMagic = 0x80211000

// prism skips a Prism II header, whose length field has the byte order of the machine.
// Some drivers write AVS headers under this link type.
func (w *walk) prism() step {
	const minimum = 144
	if w.left() < 8 {
		return stop
	}
	d := w.d[w.o:]
	if binary.BigEndian.Uint32(d)&^0xf == avsMagic {
		return w.avs()
	}
	length := min(binary.LittleEndian.Uint32(d[4:]), binary.BigEndian.Uint32(d[4:]))
	if length < minimum || int64(length) > int64(len(d)) {
		return stop
	}
	w.o += int(length)
	return w.wifi(false)
}

// avs skips an AVS header, which states its length.
func (w *walk) avs() step {
	const minimum = 8
	if w.left() < minimum {
		return stop
	}
	d := w.d[w.o:]
	length := binary.BigEndian.Uint32(d[4:])
	if binary.BigEndian.Uint32(d)&^0xf != avsMagic || length < minimum || int64(length) > int64(len(d)) {
		return stop
	}
	w.o += int(length)
	return w.wifi(false)
}

// Bits of the two frame control bytes of 802.11 (IEEE 802.11, 9.2.4.1).
const (
	wifiNoData    = 0x40 // subtypes without a frame body
	wifiQoS       = 0x80
	wifiToDS      = 0x01
	wifiFromDS    = 0x02
	wifiProtected = 0x40
	wifiOrder     = 0x80 // in QoS frames: an HT control field follows
)

// wifi reads an 802.11 header. Data frames that are not encrypted lead on; of management
// frames, only the addresses are recorded. Few captures say whether a frame check sequence
// follows. The bytes of frame control and of sequence control may be swapped, which the version
// shows.
func (w *walk) wifi(mayBeSwapped bool) step {
	const header, management, data = 24, 0, 2
	w.carried()
	w.nonIP.mayHaveFCS = true
	if w.left() < header {
		return stop
	}
	d := w.d[w.o:]
	control, flags, sequence := d[0], d[1], d[22]
	if mayBeSwapped && control&3 != 0 && flags&3 == 0 {
		control, flags, sequence = flags, control, d[23]
	}
	switch {
	case control&3 != 0: // not version 0
		return stop
	case control>>2&3 == management:
		w.addresses(4, 10)
		return stop
	case control>>2&3 != data:
		return stop
	}
	length := header
	destination, source := 4, 10
	switch flags & (wifiToDS | wifiFromDS) {
	case wifiFromDS:
		source = 16
	case wifiToDS:
		destination = 16
	case wifiToDS | wifiFromDS:
		destination, source, length = 16, 24, 30
	}
	quality := length // where the QoS control field lies
	if control&wifiQoS != 0 {
		length += 2
		if flags&wifiOrder != 0 {
			length += 4
		}
	}
	if padding := -length & 3; w.wifiPad && padding > 0 {
		w.nonIP.gap, w.nonIP.gapLen = uint8(length), uint8(padding)
		length += padding
	}
	aggregated := control&wifiQoS != 0 && quality < len(d) && d[quality]&0x80 != 0
	if !aggregated {
		w.addresses(destination, source)
	}
	laterFragment := sequence&0x0f != 0
	if flags&wifiProtected != 0 && control&wifiNoData == 0 {
		return w.unknown(unopenedWiFi, 0)
	}
	if control&wifiNoData != 0 || laterFragment {
		return stop
	}
	w.o += length
	if aggregated {
		return w.subframe()
	}
	return atLLC
}

// subframe reads the header of the first frame of an A-MSDU (9.3.2.2): two addresses and
// a length.
func (w *walk) subframe() step {
	const header = 14
	if w.left() < header {
		return stop
	}
	w.addresses(0, 6)
	return w.goTo(header, atLLC)
}

// personal reads the headers and trailers that captures add to frames of IEEE 802.15.4. The
// frames themselves are compared as they are: 6LoWPAN compresses IP headers.
func (w *walk) personal() step {
	switch w.link {
	case capture.LinkIEEE802154:
		w.nonIP.fcs = 2
	case capture.LinkIEEE802154T:
		return w.tap()
	}
	w.carried()
	return stop
}

// tap skips the header of LINKTYPE_IEEE802_15_4_TAP
// (https://github.com/jkcko/ieee802.15.4-tap): a version, a reserved byte, the length of
// the header, and fields of a type, a length and a value that is padded to four bytes. All
// numbers are little-endian. A field says how long the frame check sequence is.
func (w *walk) tap() step {
	const header, version, fcsType = 4, 0, 0
	if w.left() < header || w.d[w.o] != version {
		return stop
	}
	length := int(binary.LittleEndian.Uint16(w.d[w.o+2:]))
	if length < header || length > w.left() {
		return stop
	}
	fields := w.d[w.o+header : w.o+length]
	for len(fields) >= 4+1 {
		n := int(binary.LittleEndian.Uint16(fields[2:]))
		if binary.LittleEndian.Uint16(fields) == fcsType && n >= 1 {
			w.nonIP.fcs = [4]uint8{0, 2, 4}[fields[4]&3]
		}
		fields = fields[min(4+(n+3)&^3, len(fields)):]
	}
	w.o += length
	w.carried()
	return stop
}
