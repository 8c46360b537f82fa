// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Frames without IP are compared by destination, source, ethertype and payload. Additions of
// the wire or of a tap do not count. Ethertype 0 stands for 802.2. Zeros stand for the
// destination that cooked headers lack.
const nonIPHead = 6 + 6 + 2

// tweakNonIP is the top byte of the tweak of frames without IP. The length of the payload on the
// wire follows.
const tweakNonIP = 3 << 56

// nonIPFrame is the identity of a frame without IP.
type nonIPFrame struct {
	number  uint32 // of the frame within the run
	head    [nonIPHead]byte
	carried bool   // the payload is all of a frame, and the head is empty
	payload uint32 // its offset in Batch.Buf
	size    uint32 // of the payload
	wire    uint32 // the payload's length on the wire
	// Of a carried frame: where bytes begin that are not part of it, how many they are, and
	// where addresses begin in the copy that do not count, or 0.
	gap, gapLen uint32
	clear       [2]uint32
}

// addNonIP adds frame from+number of b to the frames without IP, if it has no IP header and
// headers.NonIPParts finds its parts. All other frames are compared whole.
func (g *Identity) addNonIP(b *capture.Batch, from, number int, h *headers.Header) (added bool) {
	var p headers.NonIPParts
	if h.Version != 0 || !p.Read(b, from+number, h) {
		return false
	}
	g.addParts(&p, b, from, number, h)
	return true
}

// addParts adds frame from+number of b, which h describes and whose parts are p.
func (g *Identity) addParts(p *headers.NonIPParts, b *capture.Batch, from, number int, h *headers.Header) {
	start := b.Frames[from+number].Data + h.Start
	g.out.nonIP = append(g.out.nonIP, nonIPFrame{
		number: uint32(number), carried: !p.Typed, payload: start + p.Payload, size: p.Size, wire: p.Wire, gap: p.Gap, gapLen: p.GapLen,
	})
	f := &g.out.nonIP[len(g.out.nonIP)-1]
	switch {
	case p.Typed:
		f.setHead(p, b.Buf[start:], g.ignore)
	case g.ignore&MAC != 0 && p.Dst >= 0:
		f.clear = [2]uint32{uint32(nonIPHead+p.Dst) - p.Payload, uint32(nonIPHead+p.Src) - p.Payload}
	}
}

// setHead fills the head with the addresses and the ethertype.
func (f *nonIPFrame) setHead(p *headers.NonIPParts, frame []byte, ignore Fields) {
	if ignore&MAC == 0 {
		if p.Dst >= 0 {
			copy(f.head[:6], frame[p.Dst:])
		}
		if p.Src >= 0 {
			copy(f.head[6:12], frame[p.Src:])
		}
	}
	binary.BigEndian.PutUint16(f.head[12:], p.Type)
}

// copyNonIP copies the head and payload of the frames that addNonIP has taken.
func (g *Identity) copyNonIP(buf []byte) {
	m := &g.out
	for i := range m.nonIP {
		f := &m.nonIP[i]
		n, tweak := min(nonIPHead+f.size, g.limit), uint64(tweakNonIP)
		if f.carried {
			tweak = tweakCarried
		}
		f.copyTo(g.addCopy(int(f.number), n, tweak|uint64(f.wire)), buf)
		if f.size < f.wire {
			m.truncated++
		}
		if f.size < f.wire || n < nonIPHead+f.size {
			m.doubt(int(f.number), inconclusive)
		}
	}
}

// tweakCarried is the top byte of the tweak of frames whose bytes are compared: encrypted, management
// and control frames of 802.11, frames of 802.15.4. The length of the frame on the wire follows.
//
// Some captures put a header of their own before each frame: when and how strongly a radio
// heard it, or which process it belongs to. It is not compared, nor is the frame check sequence. A
// frame that is sent again is no copy, since its retry bit is set, or its sequence number differs.
const tweakCarried = 4 << 56

// skipCaptureHeaders has messages of whole frames begin behind the headers of the capture.
func skipCaptureHeaders(msgs []digest.Message, b *capture.Batch, from int) {
	for i := range b.Interfaces {
		if headers.HasCaptureHeader(b.Interfaces[i].LinkType) {
			for i := range msgs {
				n := headers.CaptureHeader(b, from+i)
				msgs[i].Off += n
				msgs[i].Len -= n
				msgs[i].Tweak = tweakFrame | uint64(b.Frames[from+i].WireLen-n)
			}
			return
		}
	}
}

// copyTo copies the part of the frame that fits dst.
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
