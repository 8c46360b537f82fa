package flow

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// A message that lies in the batch (see zeroCopyDatagram) tells where its datagram begins,
// and its tweak tells the version, the protocol and whether it is a fragment. So nearly
// all frames need not be decoded again.
// least6 is the length of IPv6 messages that have the ports.
const least6 = 40 + 4 - messageStart

// ReadIdentities writes to s what Read would return for the frames from number from on,
// whose identities are m. It takes less time than Read, if m was made by
// Identity.FromFrames. The identity must open tunnels if and only if r does. It panics if
// the slices of s are shorter than m.
func (r *SightingReader) ReadIdentities(s Sightings, b *capture.Batch, from int, m *Messages) {
	n := len(m.msgs)
	if !m.datagrams {
		s.Run(0, n).Set(r.Read(b, from, n))
		return
	}
	at := place{number: noInterface}
	for first := 0; first < n; first += 64 {
		end := min(first+64, n)
		word := Sightings{s.Conversation[first:end], s.Fragment[first:end], s.Point[first:end]}
		r.readMessages(word, &at, b, from+first, m.msgs[first:end])
	}
}

// At sets bit i of at for each frame from+i whose Sightings.Point is point, and for each
// without an IP header. It clears the other bits of the words that cover the frames, whose
// identities are m. It takes less time than ReadIdentities. It reports false if it cannot,
// since m was not made by Identity.FromFrames or has copies of datagrams.
func (r *SightingReader) At(at []uint64, point uint64, b *capture.Batch, from int, m *Messages) bool {
	if !m.datagrams {
		return false
	}
	n, seen := len(m.msgs), place{number: noInterface}
	for first := 0; first < n; first += 64 {
		end := min(first+64, n)
		at[first/64] = r.atMessages(point, &seen, b, from+first, m.msgs[first:end])
	}
	return true
}

// atMessages is At for at most 64 messages that lie in b.
func (r *SightingReader) atMessages(point uint64, at *place, b *capture.Batch, from int, msgs []digest.Message) (found uint64) {
	frames, headers := b.Frames[from:from+len(msgs)], r.cfg.Fields&headerFields != 0
	for i := 0; i < len(msgs); i++ {
		if i%8 == 0 && i+8 <= len(msgs) {
			if at.hash == point && at.hasAll(frames[i:], msgs[i:], headers) {
				found |= 0xff << i
				i += 7
				continue
			}
			var eight [8]uint64
			if headers && r.tagged(&eight, at, b.Buf, frames[i:], msgs[i:]) {
				found |= equal8(&eight, point) << i
				i += 7
				continue
			}
		}
		if frames[i].Interface != at.number {
			*at = r.placeOf(b, from+i)
		}
		start := msgs[i].Off - messageStart - frames[i].Data
		if at.hash == point && (start == at.plain || !headers) || r.isAt(point, at, b, from+i, start, &msgs[i]) {
			found |= 1 << i
		}
	}
	return found
}

// isAt is At for a frame that has more headers before IP, or is of another kind. start is
// where its IP header begins, if m is a datagram as it was captured.
func (r *SightingReader) isAt(point uint64, at *place, b *capture.Batch, i int, start uint32, m *digest.Message) bool {
	if version := m.Tweak >> 60; version != 4 && version != 6 {
		h := &r.decode(b, i, 1)[0]
		if h.Version == 0 {
			return true
		}
		start = h.Start
	}
	if start == at.plain || r.cfg.Fields&headerFields == 0 {
		return at.hash == point
	}
	return r.stack(at, b, i, start) == point
}

// readMessages is ReadIdentities for at most 64 messages that lie in b.
func (r *SightingReader) readMessages(s Sightings, at *place, b *capture.Batch, from int, msgs []digest.Message) {
	slow := r.keys.messages(s.Conversation, msgs, b.Buf)
	frames, headers := b.Frames[from:from+len(msgs)], r.cfg.Fields&headerFields != 0
	fragments, points := s.Fragment[:len(msgs)], s.Point[:len(msgs)]
	clear(fragments)
	for i := 0; i < len(msgs); i++ {
		if i%8 == 0 && i+8 <= len(msgs) && slow>>(i&63)&0xff == 0 && r.eight(points[i:], at, b.Buf, frames[i:], msgs[i:]) {
			i += 7
			continue
		}
		start := msgs[i].Off - messageStart - frames[i].Data
		if slow>>(i&63)&1 != 0 {
			h := &r.decode(b, from+i, 1)[0]
			start = h.Start
			s.Conversation[i], fragments[i] = r.keys.header(h, b, from+i)
		}
		if frames[i].Interface != at.number {
			*at = r.placeOf(b, from+i)
		}
		points[i] = at.hash
		if headers && start != at.plain {
			points[i] = r.stack(at, b, from+i, start)
		}
	}
	r.paths(points, b, from)
}

// eight writes the points of the next eight frames, if all were seen at a place, and have no
// header that counts, or nothing but a VLAN tag. It reports whether it did. Their datagrams
// are msgs.
func (r *SightingReader) eight(points []uint64, at *place, buf []byte, frames []capture.Frame, msgs []digest.Message) bool {
	headers := r.cfg.Fields&headerFields != 0
	if at.hasAll(frames, msgs, headers) {
		fill8(points, at.hash)
		return true
	}
	return headers && r.tagged((*[8]uint64)(points), at, buf, frames, msgs)
}

// tagged is eight for a mix of Ethernet frames without a tag and with one. A CPU cannot
// predict the mix, so no branch depends on it.
func (r *SightingReader) tagged(points *[8]uint64, at *place, buf []byte, frames []capture.Frame, msgs []digest.Message) bool {
	if at.plain != plainStart || r.cfg.Fields&PointVLAN == 0 || len(buf) < plainStart {
		return false
	}
	frames, msgs = frames[:8], msgs[:8]
	differ, plain, key := uint32(0), at.hash, r.keys.words[7]
	last := uint32(len(buf) - 4)
	for i := range points {
		f := &frames[i]
		tag := binary.BigEndian.Uint32(buf[min(f.Data+plainStart-2, last):])
		tags := msgs[i].Off - messageStart - f.Data - plainStart // 0 or 4 bytes
		isTag := -(tags >> 2)                                    // all bits or none, then
		version := uint32(msgs[i].Tweak >> 60)                   // 4 or 6
		differ |= f.Interface ^ at.number | version&^2 ^ 4 | tags&^4 | (tag>>16^typeVLAN)&isTag
		id := uint64(tag & isTag & 0xfff)
		none := uint64(int64(id-1) >> 63) // VLAN 0 is none
		hash := fold(plain^(uint64(LayerVLAN)<<32|id), key)
		points[i] = hash ^ (hash^plain)&none
	}
	return differ == 0
}

// equal8 returns a bit for each of eight points that is one.
func equal8(points *[8]uint64, point uint64) (equal uint64) {
	for i, p := range points {
		differ := p ^ point
		equal |= (^(differ | -differ) >> 63) << i
	}
	return equal
}

// hasAll reports whether the next eight frames were seen at a place, and have no header that
// counts. Their datagrams are msgs.
func (p *place) hasAll(frames []capture.Frame, msgs []digest.Message, headers bool) bool {
	frames, msgs = frames[:8], msgs[:8]
	differ, start := uint32(0), uint32(0)
	for i := range 8 {
		differ |= frames[i].Interface ^ p.number
		start |= (msgs[i].Off - messageStart - frames[i].Data) ^ p.plain
	}
	return differ == 0 && (start == 0 || !headers)
}

func fill8(points []uint64, point uint64) {
	points = points[:8]
	for i := range points {
		points[i] = point
	}
}

// messages writes the conversations of at most 64 messages that lie in buf. It returns a
// bit for each frame that is to be decoded: fragments, truncated headers, options,
// extension headers, and frames without IP.
func (k *sightingKeys) messages(conversations []uint64, msgs []digest.Message, buf []byte) (slow uint64) {
	for others := k.ends.Hash(conversations, msgs, buf); others != 0; others &= others - 1 {
		i := bits.TrailingZeros64(others)
		m := &msgs[i]
		proto := uint8(m.Tweak >> 52)
		if m.Tweak>>60 != 6 || m.Len < least6 || isExtension[proto] {
			slow |= 1 << i
			continue
		}
		ip := buf[m.Off-messageStart:][:44]
		src, dst := portsOf(ip[40:], proto)
		conversations[i] = k.conversation6(ip, src, dst, proto)
	}
	return slow
}

// portsOf returns what Header.SrcPort and DstPort are, if they were captured.
func portsOf(upper []byte, proto uint8) (src, dst uint64) {
	both := binary.BigEndian.Uint32(upper) & portMask[proto]
	return uint64(both >> 16), uint64(both & 0xffff)
}
