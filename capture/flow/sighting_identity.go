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
const (
	// tweak4Bits has the bits of an IPv4 tweak that are the first byte of the header, and
	// what makes it a fragment; tweak4 are their values in a whole datagram without
	// options.
	tweak4Bits = 0xff<<56 | 0x3fff
	tweak4     = 0x45 << 56
	// least4 and least6 are the lengths of messages that have the ports.
	least4 = 20 + 4 - messageStart
	least6 = 40 + 4 - messageStart
)

// ReadIdentities writes to s what Read would return for the frames from number from on,
// whose identities are m. It takes less time than Read, if m was made by
// Identity.FromFrames. The identity must open tunnels if and only if r does. It panics if
// the slices of s are shorter than m.
func (r *SightingReader) ReadIdentities(s Sightings, b *capture.Batch, from int, m *Messages) {
	n := len(m.msgs)
	if !m.datagrams {
		read := r.Read(b, from, n)
		copy(s.Conversation[:n], read.Conversation)
		copy(s.Fragment[:n], read.Fragment)
		copy(s.Point[:n], read.Point)
		return
	}
	at := place{number: noInterface}
	for first := 0; first < n; first += 64 {
		end := min(first+64, n)
		word := Sightings{s.Conversation[first:end], s.Fragment[first:end], s.Point[first:end]}
		r.readMessages(word, &at, b, from+first, m.msgs[first:end])
	}
}

// readMessages is ReadIdentities for at most 64 messages that lie in b.
func (r *SightingReader) readMessages(s Sightings, at *place, b *capture.Batch, from int, msgs []digest.Message) {
	slow := r.keys.messages(s.Conversation, msgs, b.Buf)
	frames, headers := b.Frames[from:from+len(msgs)], r.cfg.Fields&headerFields != 0
	fragments, points := s.Fragment[:len(msgs)], s.Point[:len(msgs)]
	for i := range msgs {
		start := msgs[i].Off - messageStart - frames[i].Data
		fragments[i] = 0
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

// messages writes the conversations of at most 64 messages that lie in buf. It returns a
// bit for each frame that is to be decoded: fragments, truncated headers, options,
// extension headers, and frames without IP.
func (k *sightingKeys) messages(conversations []uint64, msgs []digest.Message, buf []byte) (slow uint64) {
	for others := k.messages4(conversations, msgs, buf); others != 0; others &= others - 1 {
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

// messages4 writes the conversations of IPv4, and returns a bit for each other message. A
// CPU cannot predict the mix of versions, so no branch depends on them.
func (k *sightingKeys) messages4(conversations []uint64, msgs []digest.Message, buf []byte) (others uint64) {
	if len(buf) < least4 {
		return ^uint64(0) >> (64 - len(msgs))
	}
	conversations, buf = conversations[:len(msgs)], buf[:len(buf):len(buf)]
	for i := range msgs {
		m := &msgs[i]
		differ := m.Tweak&tweak4Bits ^ tweak4 | (uint64(m.Len)-least4)>>63
		other := (differ | -differ) >> 63
		others = others>>1 | other<<63
		at := int(uint64(m.Off) & (other - 1)) // something that can be read
		ends, proto := (*[least4]byte)(buf[at:at+least4]), uint8(m.Tweak>>48)
		src, dst := portsOf(ends[8:], proto)
		conversations[i] = max(k.conversation4(le64(ends[:]), src, dst, proto), 1)
	}
	return others >> (64 - len(msgs))
}

// portsOf returns what Header.SrcPort and DstPort are, if they were captured.
func portsOf(upper []byte, proto uint8) (src, dst uint64) {
	both := binary.BigEndian.Uint32(upper) & portMask[proto]
	return uint64(both >> 16), uint64(both & 0xffff)
}
