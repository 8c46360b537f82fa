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
	kind       Kind
	ignore     Fields
	masks      ipMasks
	limit      uint32
	short      bool // messages of datagrams begin behind what the tweak holds
	layouts    [8]tweakLayout
	plans      *plans         // nil if there is nothing to edit
	tweakMasks [shapes]uint64 // of datagrams that kernels find
	edit       editor
	copied     scratch // of frames without IP
	out        Messages

	// For FromFrames.
	datagrams *kernels.Datagrams // in Ethernet frames
	untyped   *kernels.Datagrams // in others, after placeHeaders
	slow      []uint64
	deeper    deeper
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
		panic("identity: New: unknown kind")
	}
	ignore := cfg.ignored()
	g := &Identity{kind: cfg.Kind, ignore: ignore, masks: ignore.ipMasks(), limit: math.MaxUint32}
	if cfg.Bytes > 0 && uint64(cfg.Bytes) < math.MaxUint32 {
		g.limit = uint32(cfg.Bytes)
	}
	g.decoder = *headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == Inner})
	g.short, g.layouts = canShorten(cfg), ignore.tweakLayouts()
	g.plans = ignore.newPlans()
	g.tweakMasks = [shapes]uint64{^uint64(0), ^uint64(0), g.layouts[6].tweakMask(), ^uint64(0)}
	g.datagrams = kernels.NewDatagrams(g.layouts[4].firstMask, g.layouts[6].firstMask, new(headers.Decoder).SlowProtocols())
	g.untyped = g.datagrams.Untyped()
	return g
}

// FromHeaders returns the identities of the frames from to from+len(h)-1 of b, which h
// describes. Their messages lie in b, except the messages of some frames without IP. The result is
// valid until the next call, or until b is filled again.
//
// Kind Frame expects headers that were decoded without DecoderConfig.Inner, kind Inner
// with it.
func (g *Identity) FromHeaders(b *capture.Batch, from int, h []headers.Header) *Messages {
	m := g.begin(b, len(h))
	switch {
	case g.kind == Frame:
		g.frames(m.msgs, b, from, h)
	case g.short:
		zeroCopyDatagrams(m.msgs, b.Buf, b.Frames[from:from+len(h)], h, &g.layouts)
		g.editDatagrams(m.msgs, b, from, h)
	default:
		g.wholeDatagrams(m.msgs, b, from, h)
	}
	g.doubtHeaders(b, from, h)
	return g.end()
}

// frames lays out messages of kind Frame.
func (g *Identity) frames(msgs []digest.Message, b *capture.Batch, from int, h []headers.Header) {
	zeroCopyFrames(msgs, b.Frames[from:from+len(h)])
	skipCaptureHeaders(msgs, b, from)
	if g.ignore == 0 && g.limit == math.MaxUint32 {
		return
	}
	for i := range msgs {
		g.editFrame(&msgs[i], b, from+i, &h[i])
		msgs[i].Len = min(msgs[i].Len, g.limit)
	}
}

// editDatagrams edits messages of zeroCopyDatagrams, and takes frames without IP.
func (g *Identity) editDatagrams(msgs []digest.Message, b *capture.Batch, from int, h []headers.Header) {
	for i := range h {
		switch h, m := &h[i], &msgs[i]; {
		case h.Version == 0:
			g.addNonIP(b, from, i, h)
			g.editLink(m, b, from+i, h)
		default:
			g.editDatagram(span{m.Off, m.Off + m.Len}, b.Frames[from+i].Data, h)
		}
	}
}

// wholeDatagrams lays out messages of kinds L3 and Inner that are all of a datagram.
func (g *Identity) wholeDatagrams(msgs []digest.Message, b *capture.Batch, from int, h []headers.Header) {
	for i := range h {
		h, m, data := &h[i], &msgs[i], b.Frames[from+i].Data
		m.Off, m.Len, m.Tweak = data+h.Start, h.End-h.Start, tweakL3
		if h.Version == 0 {
			m.Tweak = tweakFrame | uint64(h.Wire)
			g.addNonIP(b, from, i, h)
			g.editLink(m, b, from+i, h)
		} else {
			g.editIP(m.Off, h.Version)
			g.editDatagram(span{m.Off, m.Off + m.Len}, data, h)
		}
		m.Len = min(m.Len, g.limit)
	}
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// FromFrames decodes the frames from to from+len(protocols)-1 of b, writes their IP protocols
// to protocols, and returns the identities that FromHeaders would return. It is faster, since
// most datagrams that are not copied need no Header.
func (g *Identity) FromFrames(protocols []headers.Protocol, b *capture.Batch, from int) *Messages {
	if g.short {
		g.begin(b, len(protocols))
		g.readDatagrams(protocols, b, from)
		return g.end()
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
// nearly all of them, in tunnels too, and marks the rest for the slow path.
func (g *Identity) readFast(protocols []headers.Protocol, link capture.LinkType, b *capture.Batch, from, first, end int) {
	msgs, rule := g.out.msgs[first:end], g.datagrams
	zeroCopyFrames(msgs, b.Frames[from+first:from+end])
	if link != capture.LinkEthernet {
		rule = g.untyped
		headers.PlaceIP(msgs, link, b.Buf)
	}
	g.slow = capture.Resize(g.slow, (len(msgs)+63)/64)
	cut := kernels.FindDatagrams(rule, msgs, protocols[first:end], g.slow, b.Buf)
	if g.findDeeper(link, msgs, protocols[first:end], b.Buf) || cut {
		g.doubtFound(msgs, b.Buf, first)
	}
	if g.plans != nil {
		g.editFound(msgs, protocols[first:end])
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
	m := &g.out.msgs[i]
	zeroCopyDatagram(m, b.Buf, b.Frames[from+i].Data, &h, &g.layouts)
	if h.Version == 0 {
		g.editLink(m, b, from+i, &h)
	} else {
		g.editDatagram(span{m.Off, m.Off + m.Len}, b.Frames[from+i].Data, &h)
	}
}

// Messages are the identities of a run of frames.
type Messages struct {
	buf       []byte           // of the batch: holds msgs
	edits     []edit           // of buf, while msgs are digested
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
// are whole frames or whole datagrams. They are valid as long as m.
func (m *Messages) Datagrams() ([]digest.Message, bool) { return m.msgs, m.datagrams }

// begin returns room for the messages of n frames of b.
func (g *Identity) begin(b *capture.Batch, n int) *Messages {
	m := &g.out
	m.buf, m.msgs, m.nonIP, m.doubts = b.Buf, capture.Resize(m.msgs, n), m.nonIP[:0], m.doubts[:0]
	m.datagrams = g.short
	g.edit.buf, g.edit.edits = b.Buf, g.edit.edits[:0]
	return m
}

// end returns the messages that were laid out since begin.
func (g *Identity) end() *Messages {
	g.out.edits = g.edit.edits
	g.copyNonIP(g.out.buf)
	return &g.out
}

// Sum writes the digests of the identities to dst, one for each frame. It panics if dst
// is too short.
//
// Fields that do not count are zero in the batch meanwhile, so nothing else may use these
// frames. Under the default fields, Sum only reads.
func (m *Messages) Sum(dst []digest.Digest, d digest.MessageDigester) {
	dst = dst[:len(m.msgs):len(dst)]
	applyEdits(m.buf, m.edits)
	d.SumMessages(dst, m.buf, m.msgs)
	takeBack(m.buf, m.edits)
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
		panic("identity: more than 4 GiB of identities")
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
