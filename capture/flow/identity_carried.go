// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// Some captures put a header of their own before each frame: when and how strongly a radio
// heard it, or which process it belongs to. No such header is part of an identity. Where
// nothing better is known of a frame without IP than its bytes, those behind the header are
// compared, without the frame check sequence: encrypted, management and control frames of
// 802.11, frames of 802.15.4. So a frame that is sent again counts as another one, since its
// retry bit is set, or its sequence number differs.

// tweakCarried is the top byte of the tweak of such identities. The length of the frame on
// the wire follows.
const tweakCarried = 4 << 56

// carried records that the frame which was on the wire, or on the air, begins at the
// offset.
func (w *walk) carried() {
	w.nonIP.start, w.nonIP.behind = uint32(min(uint64(w.o), math.MaxUint32)), true
}

// captureHeader reports whether frames of a link type begin with a header of the capture,
// before a whole frame of another link type. The header of cooked captures stands for a
// link header instead, and has what the capture kept of it.
func captureHeader(link capture.LinkType) bool {
	switch link {
	case capture.LinkRadiotap, capture.LinkPrism, capture.LinkAVS, capture.LinkPPI, capture.LinkPKTAP, capture.LinkUser2,
		capture.LinkIEEE802154T:
		return true
	}
	return false
}

// CaptureHeader returns the length of the capture's own header before frame i of b: that of
// radiotap, Prism, AVS, PPI, PKTAP and 802.15.4 TAP. It returns 0 for a damaged one. It
// panics if b has no frame i.
func CaptureHeader(b *capture.Batch, i int) uint32 {
	if !captureHeader(b.Interfaces[b.Frames[i].Interface].LinkType) {
		return 0
	}
	var h Header
	w := readFrame(&h, b, i, nil)
	return min(w.nonIP.start, uint32(len(w.d)))
}

// skipCaptureHeaders has messages of whole frames begin behind the headers of the capture.
func skipCaptureHeaders(msgs []digest.Message, b *capture.Batch, from int) {
	for i := range b.Interfaces {
		if captureHeader(b.Interfaces[i].LinkType) {
			for i := range msgs {
				n := CaptureHeader(b, from+i)
				msgs[i].Off += n
				msgs[i].Len -= n
				msgs[i].Tweak = tweakFrame | uint64(b.Frames[from+i].WireLen-n)
			}
			return
		}
	}
}

// checkSequence returns the length of the frame check sequence at the end of a frame, which
// begins with start bytes of a header, if it was captured whole and the sequence is right.
func checkSequence(d []byte, start int, wire uint32) uint8 {
	const size = 4
	n := len(d) - size
	if n < start || wire > uint32(len(d)) || crc32.ChecksumIEEE(d[start:n]) != binary.LittleEndian.Uint32(d[n:]) {
		return 0
	}
	return size
}

// carriedFrame describes the frame that was on the wire in f. It ends at end there.
func (w *walk) carriedFrame(f *nonIPFrame, end int64, ignore Fields) {
	p := &w.nonIP
	end = max(end-int64(p.fcs), int64(p.start))
	data := w.d[p.start:min(end, int64(len(w.d)))]
	f.carried, f.payload = true, p.start
	f.size, f.wire = uint32(len(data)), uint32(end)-p.start
	if gapEnd := int(p.gap) + int(p.gapLen); p.gapLen > 0 && gapEnd <= len(data) {
		f.gap, f.gapLen = uint32(p.gap), uint32(p.gapLen)
		f.size -= f.gapLen
		f.wire -= f.gapLen
	}
	if ignore&MAC != 0 && p.known && min(p.dst, p.src) >= int(p.start) {
		f.clear = [2]uint32{uint32(nonIPHead+p.dst) - p.start, uint32(nonIPHead+p.src) - p.start}
	}
}

// copyTo copies what of the frame has room in dst.
func (f *nonIPFrame) copyTo(dst, buf []byte) {
	src := buf[f.payload:][:f.size+f.gapLen]
	n := copy(dst, f.head[:])
	if !f.carried {
		copy(dst[n:], src)
		return
	}
	n += copy(dst[n:], src[:f.gap])
	copy(dst[n:], src[f.gap+f.gapLen:])
	for _, at := range f.clear {
		if at > 0 {
			clear(dst[min(int(at), len(dst)):min(int(at)+6, len(dst))])
		}
	}
}
