package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// Frames without IP are compared by what stations send each other, not by what the
// wire or a tap adds: destination, source, ethertype, payload. An ethertype of 0 stands
// for 802.2. Cooked headers have no destination; zeros stand for it.
const nonIPHead = 6 + 6 + 2

// tweakNonIP is the tag of such identities; the payload's length on the wire follows.
const tweakNonIP = 3 << 56

// minPayload is the length up to which payloads are padded: a frame has 60 bytes at
// least, 64 with a VLAN tag, without its check sequence (IEEE 802.3, 3.2.8).
const minPayload = 46

// nonIPFrame is the identity of a frame without IP.
type nonIPFrame struct {
	number  uint32 // of the frame, counted from the first of the run
	head    [nonIPHead]byte
	payload uint32 // where it lies in the batch
	size    uint32 // of the payload
	wire    uint32 // the payload's length on the wire
}

// addNonIP enters frame from+number of b if that has no IP header, but for frames that
// are compared whole, since no addresses or no ethertype were found.
func (g *Identity) addNonIP(b *capture.Batch, from, number int, h *Header) (added bool) {
	if h.Version != 0 {
		return false
	}
	f := &b.Frames[from+number]
	data := b.Data(from + number)[h.Start:h.End]
	iface := &b.Interfaces[f.Interface]
	var header Header
	w := walk{d: data, h: &header, link: iface.LinkType, bigEndian: b.Sections[iface.Section].BigEndian, frame: -1}
	if h.Flags&FlagInner != 0 {
		w.run(atEther)
	} else {
		w.nonIP.fcs = b.FCSLen(from + number)
		w.run(atLink)
	}
	if !w.nonIP.known || w.nonIP.body == 0 || w.nonIP.body > len(w.d) {
		return false
	}
	bare := nonIPFrame{number: uint32(number), head: w.head(g.ignore)}
	payload, wire := w.payload(max(int64(h.Wire), int64(len(data))))
	bare.payload = f.Data + h.Start + uint32(w.nonIP.body)
	bare.size, bare.wire = uint32(len(payload)), uint32(wire)
	g.out.nonIP = append(g.out.nonIP, bare)
	return true
}

// head returns addresses and ethertype.
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

// payload returns what was captured of the payload, and its length on the wire, where
// the frame ends at the given offset.
func (w *walk) payload(end int64) (payload []byte, wire int64) {
	p := &w.nonIP
	end -= int64(p.fcs)
	if p.end > 0 && int64(p.end) <= end {
		end = int64(p.end)
	} else {
		p.exact = false // the length field states more than there is
	}
	if n := arpSize(w.typ, w.d[p.body:]); n > 0 && int64(p.body+n) <= end {
		end, p.exact = int64(p.body+n), true
	}
	wire = max(end-int64(p.body), 0)
	payload = w.d[p.body:]
	if int64(len(payload)) < wire {
		return payload, wire // cut: what is at its end is not known
	}
	payload = payload[:wire]
	if !p.exact {
		payload = withoutPadding(withoutTrailer(payload))
	}
	return payload, int64(len(payload))
}

// arpSize returns the length that the header of ARP (RFC 826) states, 0 for other
// ethertypes.
func arpSize(typ uint16, payload []byte) int {
	const header = 8
	if typ != typeARP && typ != typeRARP || len(payload) < header {
		return 0
	}
	return header + 2*(int(payload[4])+int(payload[5]))
}

// withoutTrailer returns a payload without the redundancy control trailer of the
// parallel redundancy protocol (IEC 62439-3, 4.1.10): sequence number, four bits of
// LAN, twelve of length, which counts payload and trailer, suffix. The length may leave
// out padding.
func withoutTrailer(payload []byte) []byte {
	const trailer, suffix = 6, 0x88fb
	n := len(payload)
	if n < trailer || binary.BigEndian.Uint16(payload[n-2:]) != suffix {
		return payload
	}
	word := binary.BigEndian.Uint16(payload[n-4:])
	lan, length := word>>12, int(word&0xfff)
	padded := n <= minPayload+trailer && length >= trailer && length <= n
	if lan != 0xa && lan != 0xb || length != n && !padded {
		return payload
	}
	return payload[:n-trailer]
}

// withoutPadding returns a payload that may be padded without the zeros at its end,
// whether they are its own or not: nobody behind the first switch could tell.
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

// copyNonIP copies the frames that were entered.
func (g *Identity) copyNonIP(buf []byte) {
	m, size := &g.out, uint64(0)
	m.copies = resize(m.copies, len(m.nonIP))
	for i := range m.nonIP {
		f := &m.nonIP[i]
		n := min(nonIPHead+f.size, g.limit)
		m.copies[i] = digest.Message{Off: uint32(size), Len: n, Tweak: tweakNonIP | uint64(f.wire)}
		size += uint64(n)
	}
	m.copied = g.copied.get(size)
	for i := range m.nonIP {
		f := &m.nonIP[i]
		dst := m.copied[m.copies[i].Off:][:m.copies[i].Len]
		copy(dst[copy(dst, f.head[:]):], buf[f.payload:f.payload+f.size])
	}
}

// nonIP is what a walk notes for frames without IP, which are compared by hardware
// addresses, ethertype and payload: the innermost ones that were reached. Offsets are
// those of the walk.
type nonIP struct {
	known    bool // where the addresses are, or that there are none
	dst, src int  // offsets of the addresses, or none
	body     int  // where the payload begins that walk.typ announces; 0 if none was met
	end      int  // where it ends at the latest, 0 if nothing says so
	exact    bool // the end is what a length field says
	fcs      int  // bytes of frame check sequence at the end of the frame
}

// none stands for an address that a link header does not have.
const none = -1

// addresses notes where addresses lie, counted from the walk's offset, negative if
// there is none.
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

// limit notes that the payload does not reach behind end.
func (p *nonIP) limit(end int) {
	if p.end == 0 || end < p.end {
		p.end = end
	}
}

// sized notes that the payload begins at body and has the given length (IEEE 802.3,
// 3.2.6). A length that leaves no room for an 802.2 header is none.
func (p *nonIP) sized(body, length int) {
	if length >= 3 {
		p.limit(body + length)
		p.exact = true
	}
}
