// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Config defines which packets are equal. The zero value compares IP datagrams without the
// fields that routers change.
type Config struct {
	Kind   Kind
	Ignore Ignore // fields that are left out
	Bytes  int    // how many bytes of the identity count; 0 or less means all
}

// ignored returns the fields that are left out.
func (c Config) ignored() Fields { return c.Ignore.Apply(c.Kind) }

// Uneven reports whether equal packets may differ in their Integrity: in their captured
// length, or in a checksum over their payload.
func (c Config) Uneven() bool {
	return c.Bytes > 0 || c.ignored()&(L4Checksum|TCPSeq|NAT) != 0
}

// Identity collects the bytes by which packets are compared. It keeps its buffers from
// call to call, so one goroutine at a time may use it.
type Identity struct {
	kind     Kind
	ignore   Fields
	masks    ipMasks
	limit    uint32
	zeroCopy bool // messages lie in the batch, and are not copied
	layouts  [8]tweakLayout
	buffer   scratch
	copied   scratch // of frames without IP
	out      Messages

	// For FromFrames.
	datagrams *kernels.Datagrams // in Ethernet frames
	untyped   *kernels.Datagrams // in others, after placeHeaders
	slow      []uint64
	decoder   headers.Decoder
	headers   []headers.Header
}

// The top byte of a message's tweak keeps identities of different kinds apart. In the
// tweak of a frame, the length on the wire follows.
const (
	tweakFrame = 1 << 56
	tweakL3    = 2 << 56
)

// New returns an Identity. It panics if the kind is not one of the constants.
func New(cfg Config) *Identity {
	if int(cfg.Kind) >= len(kindNames) {
		panic("flow: NewIdentity: unknown kind")
	}
	ignore := cfg.ignored()
	g := &Identity{kind: cfg.Kind, ignore: ignore, masks: ignore.ipMasks(), limit: math.MaxUint32}
	if cfg.Bytes > 0 && uint64(cfg.Bytes) < math.MaxUint32 {
		g.limit = uint32(cfg.Bytes)
	}
	g.decoder = *headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == Inner})
	g.zeroCopy, g.layouts = canZeroCopy(cfg), ignore.tweakLayouts()
	g.datagrams = kernels.NewDatagrams(g.layouts[4].firstMask, g.layouts[6].firstMask, g.decoder.SlowProtocols())
	g.untyped = g.datagrams.Untyped()
	return g
}

// FromHeaders returns the identities of the frames from to from+len(h)-1 of b, which h
// describes. Whole frames, and datagrams under the default fields, are not copied: their
// messages lie in b. All others are copied into buffers of g, which shrink again after
// large frames. The result is valid until the next call, or until b is filled again.
//
// Kind Frame expects headers that were decoded without DecoderConfig.Inner, kind Inner
// with it. FromHeaders panics if the bytes to copy exceed 4 GiB, which no batch can hold.
func (g *Identity) FromHeaders(b *capture.Batch, from int, h []headers.Header) *Messages {
	frames := b.Frames[from : from+len(h)]
	m := g.begin(b, len(h))
	switch {
	case g.zeroCopy && g.kind == Frame:
		zeroCopyFrames(m.msgs, frames)
		skipCaptureHeaders(m.msgs, b, from)
	case g.zeroCopy:
		if zeroCopyDatagrams(m.msgs, b.Buf, frames, h, &g.layouts) {
			for i := range h {
				g.addNonIP(b, from, i, &h[i])
			}
		}
	case g.kind == Frame:
		m.buf = g.buffer.get(g.describeFrames(m.msgs, b, from, h))
		g.copyFrames(m.buf, m.msgs, b, from, h)
	default:
		m.buf = g.buffer.get(g.describeDatagrams(m.msgs, b, from, h))
		g.copyDatagrams(m.buf, m.msgs, b, from, h)
	}
	g.doubtHeaders(b, from, h)
	g.copyNonIP(b.Buf)
	return m
}

// describeDatagrams lays out the messages of kinds L3 and Inner, and returns the size of
// the buffer for them. Frames that addNonIP has taken get an empty message.
func (g *Identity) describeDatagrams(msgs []digest.Message, b *capture.Batch, from int, h []headers.Header) uint64 {
	size := uint64(0)
	for i := range h {
		h := &h[i]
		n, tweak := h.End-h.Start, uint64(tweakL3)
		if h.Version == 0 {
			n, tweak = n-g.tagBytes(h), g.frameTweak(h, h.Wire)
			if g.addNonIP(b, from, i, h) {
				n = 0
			}
		}
		n = min(n, g.limit)
		m := &msgs[i]
		m.Off, m.Len, m.Tweak = uint32(size), n, tweak
		size += padded(n)
	}
	return size
}

// copyDatagrams fills the buffer for kinds L3 and Inner.
func (g *Identity) copyDatagrams(buf []byte, msgs []digest.Message, b *capture.Batch, from int, h []headers.Header) {
	masks, frames := g.masks, b.Frames[from:from+len(h)]
	for i := range h {
		h, m, f := &h[i], &msgs[i], &frames[i]
		if m.Len == 0 {
			continue
		}
		dst := buf[m.Off:][:padded(m.Len)]
		*(*[16]byte)(dst[len(dst)-16:]) = [16]byte{}
		if h.Version == 0 {
			g.copyInner(dst[:m.Len], b, from+i, h)
			continue
		}
		copy(dst[:m.Len], b.Buf[f.Data+h.Start:f.Data+h.End])
		if h.Version == 4 {
			and64(dst, masks.v4[0])
			and64(dst[8:], masks.v4[1])
		} else {
			and64(dst, masks.v6)
		}
		v := view{h: h, base: h.Start}
		v.clearPacket(dst[:m.Len], b.Data(from+i), g.ignore)
	}
}

// padded returns n rounded up to a multiple of 16.
func padded(n uint32) uint64 { return (uint64(n) + 15) &^ 15 }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func and64(b []byte, mask uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)&mask)
}

// FromFrames decodes the frames from to from+len(protocols)-1 of b, writes their IP protocols
// to protocols, and returns the identities that FromHeaders would return. It is faster, since
// most datagrams that are not copied need no Header.
func (g *Identity) FromFrames(protocols []headers.Protocol, b *capture.Batch, from int) *Messages {
	if g.zeroCopy && g.kind != Frame {
		m := g.begin(b, len(protocols))
		g.readDatagrams(protocols, b, from)
		g.copyNonIP(b.Buf)
		return m
	}
	h := g.decode(b, from, len(protocols))
	for i := range h {
		protocols[i] = h[i].Protocol()
	}
	return g.FromHeaders(b, from, h)
}

// decode returns the headers of n frames. They are valid until the next call.
func (g *Identity) decode(b *capture.Batch, from, n int) []headers.Header {
	g.headers = capture.Resize(g.headers, n)
	g.decoder.Decode(g.headers, b, from)
	return g.headers
}

// readDatagrams lays out datagrams that are not copied, run by run of frames of one link
// type.
func (g *Identity) readDatagrams(protocols []headers.Protocol, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(protocols)]
	for i := 0; i < len(protocols); {
		n, link := headers.LinkRun(frames[i:], b.Interfaces)
		g.readFast(protocols, link, b, from, i, i+n)
		i += n
	}
}

// readFast lays out the frames from number first to end-1, of one link type. A kernel takes
// nearly all of them and marks the rest for the slow path.
func (g *Identity) readFast(protocols []headers.Protocol, link capture.LinkType, b *capture.Batch, from, first, end int) {
	msgs, rule := g.out.msgs[first:end], g.datagrams
	zeroCopyFrames(msgs, b.Frames[from+first:from+end])
	if link != capture.LinkEthernet {
		rule = g.untyped
		headers.PlaceIP(msgs, link, b.Buf)
	}
	g.slow = capture.Resize(g.slow, (len(msgs)+63)/64)
	if kernels.FindDatagrams(rule, msgs, protocols[first:end], g.slow, b.Buf) {
		g.doubtFound(msgs, b.Buf, first)
	}
	for w, word := range g.slow {
		for ; word != 0; word &= word - 1 {
			g.readSlow(protocols, b, from, first+w*64+bits.TrailingZeros64(word))
		}
	}
}

// readSlow lays out frame from+i of b, which the fast path has left.
func (g *Identity) readSlow(protocols []headers.Protocol, b *capture.Batch, from, i int) {
	var h headers.Header
	var p headers.NonIPParts
	if g.decoder.DecodeSlow(&h, &p, b, from+i) {
		g.addParts(&p, b, from, i, &h)
	} else {
		g.doubtHeader(b, from, i, &h)
	}
	protocols[i] = h.Protocol()
	zeroCopyDatagram(&g.out.msgs[i], b.Buf, b.Frames[from+i].Data, &h, &g.layouts)
}

// Messages are the identities of a run of frames.
type Messages struct {
	buf       []byte           // holds msgs
	msgs      []digest.Message // one for each frame; frames in nonIP do not count
	datagrams bool             // zeroCopyDatagram has made msgs
	nonIP     []nonIPFrame     // frames without IP
	copied    []byte           // holds copies, the messages of nonIP
	copies    []digest.Message
	digests   []digest.Digest
	doubts    []Doubt
}

// Datagrams returns the messages, one for each frame, if they lie in the batch: see
// MessageStart and Message.Tweak. Tweak>>60 is the IP version of a datagram; another value
// marks a frame without IP, or a truncated datagram. Datagrams returns false if the messages
// are copies or whole frames. They are valid as long as m.
func (m *Messages) Datagrams() ([]digest.Message, bool) { return m.msgs, m.datagrams }

// begin returns room for the messages of n frames of b.
func (g *Identity) begin(b *capture.Batch, n int) *Messages {
	m := &g.out
	m.buf, m.msgs, m.nonIP, m.doubts = b.Buf, capture.Resize(m.msgs, n), m.nonIP[:0], m.doubts[:0]
	m.datagrams = g.zeroCopy && g.kind != Frame
	return m
}

// Sum writes the digests of the identities to dst, one for each frame. It panics if dst
// is too short.
func (m *Messages) Sum(dst []digest.Digest, d digest.MessageDigester) {
	d.SumMessages(dst, m.buf, m.msgs)
	if len(m.nonIP) == 0 {
		return
	}
	m.digests = capture.Resize(m.digests, len(m.nonIP))
	d.SumMessages(m.digests, m.copied, m.copies)
	for i := range m.nonIP {
		dst[m.nonIP[i].number] = m.digests[i]
	}
}

// Buffers up to scratchKeep bytes are kept. A larger one, which only batches with very
// large frames need, is freed after scratchKeepCalls calls that did not need it.
const (
	scratchKeep      = 4 << 20
	scratchKeepCalls = 64
)

// scratch is a buffer that grows as needed and shrinks again. Go's allocator aligns
// blocks of this size to pages.
type scratch struct {
	buf   []byte
	small int // calls in a row that needed at most scratchKeep bytes
}

// get returns size bytes of arbitrary content.
func (s *scratch) get(size uint64) []byte {
	if size > math.MaxUint32 {
		panic("flow: more than 4 GiB of identities")
	}
	s.small++
	if size > scratchKeep {
		s.small = 0
	}
	need := uint64(cap(s.buf)) < size
	if need || cap(s.buf) > scratchKeep && s.small > scratchKeepCalls {
		const least = 64 << 10
		capacity := max(least, size)
		if capacity < scratchKeep { // leave room, so that growth is rare
			capacity = min(2*capacity, scratchKeep)
		}
		s.buf = nil // lets the collector free it before the new one is allocated
		s.buf = make([]byte, capacity)
	}
	return s.buf[:size]
}
