// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

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
