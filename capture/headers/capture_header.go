// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

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
// Prism, AVS, PPI, PKTAP and 802.15.4 TAP. It returns 0 for a damaged one. It panics if b has
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
