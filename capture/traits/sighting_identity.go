// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// A message that lies in the batch (see zeroCopyDatagram) shows where its datagram begins, and
// its tweak has the version, the protocol and whether it is a fragment. So nearly all frames
// need not be decoded again. least6 is the length of IPv6 messages that have the ports.
const least6 = 40 + 4 - identity.MessageStart

// ReadIdentities writes to s the results of Read for the frames from number from on, whose
// identities are m. It takes less time than Read, if m was made by identity.Identity.FromFrames. The
// identity must open tunnels if and only if r does. It panics if the slices of s are shorter
// than m.
func (r *SightingReader) ReadIdentities(s Sightings, b *capture.Batch, from int, m *identity.Messages) {
	msgs, ok := m.Datagrams()
	n := len(msgs)
	if !ok {
		s.Run(0, n).Set(r.Read(b, from, n))
		return
	}
	at := place{number: noInterface}
	for first := 0; first < n; first += 64 {
		end := min(first+64, n)
		word := Sightings{s.Conversation[first:end], s.Fragment[first:end], s.Point[first:end]}
		r.readMessages(word, &at, b, from+first, msgs[first:end])
	}
	s = s.Run(0, n)
	r.separate(&s, b, from)
}

// At sets bit i of at for each frame from+i whose Sightings.Point is point, and for each
// without an IP header. It clears the other bits of the words that cover the frames, whose
// identities are m. It takes less time than ReadIdentities. It reports false if it cannot,
// since m was not made by identity.Identity.FromFrames or has copies of datagrams.
func (r *SightingReader) At(at []uint64, point uint64, b *capture.Batch, from int, m *identity.Messages) bool {
	msgs, ok := m.Datagrams()
	if !ok {
		return false
	}
	n, seen := len(msgs), place{number: noInterface}
	for first := 0; first < n; first += 64 {
		end := min(first+64, n)
		at[first/64] = r.atMessages(point, &seen, b, from+first, msgs[first:end])
	}
	return true
}

// atMessages is At for at most 64 messages that lie in b.
func (r *SightingReader) atMessages(point uint64, at *place, b *capture.Batch, from int, msgs []digest.Message) (found uint64) {
	all, headers := b.Frames[from:from+len(msgs)], r.cfg.Fields&headerFields != 0
	if at.hash == point && at.hasAll(all, msgs, headers) {
		return ^uint64(0) >> (64 - len(msgs))
	}
	var points [64]uint64
	others := r.tagged(points[:], at, b, from, msgs)
	for i := range all {
		differ := points[i] ^ point
		found |= ^(differ | -differ) >> 63 << i
	}
	found &^= others
	for ; others != 0; others &= others - 1 {
		i := bits.TrailingZeros64(others)
		if all[i].Interface != at.number {
			*at = r.placeOf(b, from+i)
		}
		start := msgs[i].Off - identity.MessageStart - all[i].Data
		if at.hash == point && (start == at.plain || !headers) || r.isAt(point, at, b, from+i, start, &msgs[i]) {
			found |= 1 << i
		}
	}
	return found
}

// isAt is At for a frame that atMessages cannot judge by its place. start is where its IP header
// begins, if m is a datagram as it was captured.
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
	others := slow
	if others != 0 || !at.hasAll(frames, msgs, headers) {
		others |= r.tagged(points, at, b, from, msgs)
	} else {
		for i := range points {
			points[i] = at.hash
		}
	}
	for ; others != 0; others &= others - 1 {
		i := bits.TrailingZeros64(others)
		start := msgs[i].Off - identity.MessageStart - frames[i].Data
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

// tagged writes the points of frames, at most 64, whose messages are msgs. It can do so for frames at
// the place of the first frame that have no header that counts, or nothing but a VLAN tag. It returns
// a bit for each other frame, and for all if the first frame is in a tunnel.
func (r *SightingReader) tagged(points []uint64, at *place, b *capture.Batch, from int, msgs []digest.Message) (others uint64) {
	all := b.Frames[from : from+len(msgs)]
	if all[0].Interface != at.number {
		*at = r.placeOf(b, from)
	}
	if r.cfg.Fields&PointVLAN == 0 || r.cfg.Groups.vlans != nil || at.plain != plainStart || at.number == noInterface || int32(msgs[0].Off-identity.MessageStart-all[0].Data) > plainStart+4 {
		return ^uint64(0) >> (64 - len(msgs))
	}
	p := frames.Place{
		Interface: uint64(at.number), Skip: identity.MessageStart + plainStart, Hash: at.hash, Kind: uint64(headers.LayerVLAN) << 32, Key: r.keys.words[7],
	}
	return p.Points(points, frames.Of(all), msgs, b.Buf)
}

// hasAll reports whether frames were seen at a place, and have no header that counts. Their
// datagrams are msgs.
func (p *place) hasAll(frames []capture.Frame, msgs []digest.Message, headers bool) bool {
	msgs = msgs[:len(frames)]
	differ, start := uint32(0), uint32(0)
	for i := range frames {
		differ |= frames[i].Interface ^ p.number
		start |= (msgs[i].Off - identity.MessageStart - frames[i].Data) ^ p.plain
	}
	return differ == 0 && (start == 0 || !headers)
}

// messages writes the conversations of at most 64 messages that lie in buf. It returns a
// bit for each frame that is to be decoded: fragments, truncated headers, options,
// extension headers, and frames without IP.
func (k *sightingKeys) messages(conversations []uint64, msgs []digest.Message, buf []byte) (slow uint64) {
	for others := k.ends.Hash(conversations, msgs, buf); others != 0; others &= others - 1 {
		i := bits.TrailingZeros64(others)
		m := &msgs[i]
		proto := uint8(m.Tweak >> 52)
		if m.Tweak>>60 != 6 || m.Len < least6 || iana.IsExtension[proto] {
			slow |= 1 << i
			continue
		}
		ip := buf[m.Off-identity.MessageStart:][:44]
		src, dst := portsOf(ip[40:], proto)
		conversations[i] = k.conversation6(ip, src, dst, proto)
	}
	return slow
}

// portsOf returns the same as Header.SrcPort and DstPort, if they were captured.
func portsOf(upper []byte, proto uint8) (src, dst uint64) {
	both := binary.BigEndian.Uint32(upper) & iana.PortMask[proto]
	return uint64(both >> 16), uint64(both & 0xffff)
}
