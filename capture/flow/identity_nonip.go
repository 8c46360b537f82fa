// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// Frames without IP are compared by what stations send to each other: destination,
// source, ethertype and payload. What the wire or a tap adds does not count. Ethertype 0
// stands for 802.2. Zeros stand for the destination that cooked headers lack.
const nonIPHead = 6 + 6 + 2

// tweakNonIP is the top byte of the tweak of such identities. The length of the payload
// on the wire follows.
const tweakNonIP = 3 << 56

// minPayload is the length up to which senders pad payloads. Without its check sequence,
// a frame has at least 60 bytes, or 64 with a VLAN tag (IEEE 802.3, 3.2.8).
const minPayload = 46

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

// addNonIP adds frame from+number of b to the frames without IP, if it has no IP header.
// It leaves out frames without known addresses or ethertype that no capture's own header
// precedes. They are compared whole.
func (g *Identity) addNonIP(b *capture.Batch, from, number int, h *Header) (added bool) {
	if h.Version != 0 {
		return false
	}
	var header Header
	if h.Flags&FlagInner == 0 {
		w := readFrame(&header, b, from+number, nil)
		return g.addWalked(&w, b, from, number, h)
	}
	w := walk{d: b.Data(from + number)[h.Start:h.End], end: h.Wire, h: &header, frame: -1}
	w.run(atEther)
	return g.addWalked(&w, b, from, number, h)
}

// addWalked is addNonIP after w has walked what h describes.
func (g *Identity) addWalked(w *walk, b *capture.Batch, from, number int, h *Header) (added bool) {
	p := &w.nonIP
	typed := p.known && p.body != 0 && p.body <= len(w.d)
	if !typed && (!p.behind || int64(p.start) > int64(len(w.d))) {
		return false
	}
	if p.fcs == 0 && h.Flags&FlagInner == 0 {
		p.fcs = uint8(b.FCSLen(from + number))
	}
	if p.fcs == 0 && p.mayHaveFCS {
		p.fcs = checkSequence(b.Data(from+number), int(p.start), h.Wire)
	}
	end := max(int64(h.Wire), int64(len(w.d)))
	g.out.nonIP = append(g.out.nonIP, nonIPFrame{number: uint32(number)})
	entry := &g.out.nonIP[len(g.out.nonIP)-1]
	if typed {
		payload, wire := w.payload(end)
		entry.head, entry.payload = w.head(g.ignore), uint32(p.body)
		entry.size, entry.wire = uint32(len(payload)), uint32(wire)
	} else {
		w.carriedFrame(entry, end, g.ignore)
	}
	entry.payload += b.Frames[from+number].Data + h.Start
	return true
}

// head returns the addresses and the ethertype.
func (w *walk) head(ignore Fields) (head [nonIPHead]byte) {
	if ignore&MAC == 0 {
		if w.nonIP.dst >= 0 {
			copy(head[:6], w.d[w.nonIP.dst:])
		}
		if w.nonIP.src >= 0 {
			copy(head[6:12], w.d[w.nonIP.src:])
		}
	}
	binary.BigEndian.PutUint16(head[12:], w.typ)
	return head
}

// payload returns the captured bytes of the payload and its length on the wire, if the
// frame ends at the given offset.
func (w *walk) payload(end int64) (payload []byte, wire int64) {
	p := &w.nonIP
	end -= int64(p.fcs) + int64(p.trailer)
	if p.end > 0 && int64(p.end) <= end {
		end = int64(p.end)
	} else {
		p.exact = false // the length field states more than there is
	}
	if n := statedSize(w.typ, w.d[p.body:]); n > 0 && int64(p.body+n) <= end {
		end, p.exact = int64(p.body+n), true
	}
	wire = max(end-int64(p.body), 0)
	payload = w.d[p.body:]
	if int64(len(payload)) < wire {
		return payload, wire // truncated: its end is unknown
	}
	payload = payload[:wire]
	if !p.exact {
		payload = withoutPadding(withoutTrailer(payload))
	}
	return payload, int64(len(payload))
}

// withoutTrailer removes PRP's trailer from a payload.
func withoutTrailer(payload []byte) []byte {
	if lan, _ := trailerOf(payload); lan == 0 {
		return payload
	}
	return payload[:len(payload)-trailerLen]
}

// withoutPadding removes the zeros at the end of a payload that may be padded. Some of
// them may be the sender's own: no station behind a switch can tell the difference.
func withoutPadding(payload []byte) []byte {
	if len(payload) > minPayload {
		return payload
	}
	n := len(payload)
	for n > 0 && payload[n-1] == 0 {
		n--
	}
	return payload[:n]
}

// copyNonIP copies the head and payload of the frames that addNonIP has taken.
func (g *Identity) copyNonIP(buf []byte) {
	m, size := &g.out, uint64(0)
	m.copies = resize(m.copies, len(m.nonIP))
	for i := range m.nonIP {
		f := &m.nonIP[i]
		n, tweak := min(nonIPHead+f.size, g.limit), uint64(tweakNonIP)
		if f.carried {
			tweak = tweakCarried
		}
		m.copies[i] = digest.Message{Off: uint32(size), Len: n, Tweak: tweak | uint64(f.wire)}
		size += uint64(n)
		if f.size < f.wire || n < nonIPHead+f.size {
			m.doubt(int(f.number), inconclusive)
		}
	}
	m.copied = g.copied.get(size)
	for i := range m.nonIP {
		f := &m.nonIP[i]
		f.copyTo(m.copied[m.copies[i].Off:][:m.copies[i].Len], buf)
	}
}

// nonIP has what a walk records for the comparison of frames without IP. Addresses,
// ethertype and payload are the innermost ones that the walk has reached. Offsets are
// those of the walk.
type nonIP struct {
	dst, src int // offsets of the addresses, or none
	body     int // start of the payload that walk.typ announces; 0 if there is none
	end      int // upper bound of its end; 0 if unknown
	// start is where the frame begins that was on the wire, if behind is set. gapLen bytes of
	// it, gap bytes behind start, are not part of that frame.
	start       uint32
	gap, gapLen uint8
	behind      bool
	fcs         uint8 // bytes of frame check sequence at the end of the frame
	mayHaveFCS  bool  // a sequence of four bytes may be at the end, though fcs is 0
	known       bool  // whether the addresses are known, or known to be absent
	exact       bool  // the end comes from a length field
	trailer     byte  // bytes before the check sequence that are not of the payload
}

// none is the offset of an address that a link header does not have.
const none = -1

// addresses records where addresses lie, counted from the offset of the walk; negative
// means none.
func (p *nonIP) addresses(w *walk, dst, src int) {
	p.dst, p.src, p.exact = none, none, false
	if dst >= 0 {
		p.dst = w.o + dst
	}
	if src >= 0 {
		p.src = w.o + src
	}
	p.known = max(p.dst, p.src)+6 <= len(w.d)
}

// limit records that the payload ends at end or before.
func (p *nonIP) limit(end int) {
	if p.end == 0 || end < p.end {
		p.end = end
	}
}

// sized records that the payload begins at body and has the given length (IEEE 802.3,
// 3.2.6). It ignores a length without room for an 802.2 header.
func (p *nonIP) sized(body, length int) {
	if length >= 3 {
		p.limit(body + length)
		p.exact = true
	}
}
