// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"math"
	"math/bits"
	"slices"

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
	ipMasks    ipMasks
	limit      uint32
	short      bool // messages of datagrams begin behind what the tweak holds
	layouts    [8]tweakLayout
	tweakMasks [len(shapes)]uint64 // of datagrams that kernels find
	masks      *digest.Masks       // nil if all of each message counts
	varies     [256]bool           // see Fields.varying
	known      layouts
	out        Messages

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
	g := &Identity{kind: cfg.Kind, ignore: ignore, ipMasks: ignore.ipMasks(), limit: math.MaxUint32}
	if cfg.Bytes > 0 && uint64(cfg.Bytes) < math.MaxUint32 {
		g.limit = uint32(cfg.Bytes)
	}
	g.decoder = *headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == Inner})
	g.short, g.layouts = canShorten(cfg), ignore.tweakLayouts()
	if !g.short && ignore != 0 || ignore&(L4Checksum|TCPSeq|NAT|MAC|VLAN) != 0 {
		g.masks, g.varies = digest.NewMasks(), ignore.varying()
	}
	g.tweakMasks = [...]uint64{^uint64(0), ^uint64(0), g.layouts[6].tweakMask(), ^uint64(0)}
	g.datagrams = kernels.NewDatagrams(g.layouts[4].firstMask, g.layouts[6].firstMask, g.decoder.SlowProtocols())
	g.untyped = g.datagrams.Untyped()
	return g
}

// FromHeaders returns the identities of the frames from to from+len(h)-1 of b, which h
// describes. Their messages lie in b, except those of some frames: without IP, with tags that
// do not count, or with fields far from their beginning that do not. The result is valid until the next call, or until b is filled again.
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
		g.maskDatagrams(b, from, h)
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
		g.frame(i, b, from+i, &h[i])
	}
}

// maskDatagrams leaves out fields of messages of zeroCopyDatagrams, and takes frames without IP.
func (g *Identity) maskDatagrams(b *capture.Batch, from int, h []headers.Header) {
	for i := range h {
		switch h := &h[i]; {
		case h.Version != 0:
			d := datagramOf(h, b.Frames[from+i].Data)
			g.leaveOut(i, &d)
		case !g.addNonIP(b, from, i, h):
			g.frame(i, b, from+i, h)
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
			if !g.addNonIP(b, from, i, h) {
				g.frame(i, b, from+i, h)
			}
			continue
		}
		m.Len = min(m.Len, g.limit)
		d := datagramOf(h, data)
		g.leaveOut(i, &d)
	}
}

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
	if g.masks != nil {
		g.maskFound(msgs, protocols[first:end], first)
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
	hasParts := g.decoder.DecodeSlow(&h, &p, b, from+i)
	protocols[i] = h.Protocol()
	data := b.Frames[from+i].Data
	zeroCopyDatagram(&g.out.msgs[i], b.Buf, data, &h, &g.layouts)
	if hasParts {
		g.addParts(&p, b, from, i, &h)
		return
	}
	g.doubtHeader(b, from, i, &h)
	if h.Version == 0 {
		g.frame(i, b, from+i, &h)
		return
	}
	d := datagramOf(&h, data)
	g.leaveOut(i, &d)
}

// Messages are the identities of a run of frames.
type Messages struct {
	buf       []byte           // of the batch: holds msgs
	msgs      []digest.Message // one for each frame; those in copiedAs do not count
	masks     *digest.Masks    // or nil
	which     []uint8          // the number of each message's mask
	datagrams bool             // zeroCopyDatagram has made msgs
	nonIP     []nonIPFrame     // frames without IP
	copied    scratch          // holds copies
	copies    []digest.Message // in place of the messages of some frames
	copiedAs  []uint32         // the numbers of these frames
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
	m.datagrams, m.masks = g.short, g.masks
	if m.masks != nil {
		m.which = capture.Resize(m.which, n)
		clear(m.which)
	}
	m.copies, m.copiedAs = m.copies[:0], m.copiedAs[:0]
	m.copied.reset()
	return m
}

// addCopy returns n bytes for the message of frame i of the run, in place of the one in the batch.
func (g *Identity) addCopy(i int, n uint32, tweak uint64) []byte {
	m := &g.out
	off, room := m.copied.add(n)
	m.copies = append(m.copies, digest.Message{Off: off, Len: n, Tweak: tweak})
	m.copiedAs = append(m.copiedAs, uint32(i))
	return room
}

// end returns the messages that were laid out since begin.
func (g *Identity) end() *Messages {
	g.copyNonIP(g.out.buf)
	return &g.out
}

// Sum writes the digests of the identities to dst, one for each frame. It panics if dst
// is too short.
func (m *Messages) Sum(dst []digest.Digest, d digest.MessageDigester) {
	dst = dst[:len(m.msgs):len(dst)]
	if m.masks != nil {
		m.masks.Sum(dst, m.buf, m.msgs, m.which, d)
	} else {
		d.SumMessages(dst, m.buf, m.msgs)
	}
	if len(m.copies) == 0 {
		return
	}
	m.digests = capture.Resize(m.digests, len(m.copies))
	d.SumMessages(m.digests, m.copied.buf, m.copies)
	for i, number := range m.copiedAs {
		dst[number] = m.digests[i]
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

// reset makes room for new bytes.
func (s *scratch) reset() {
	s.small++
	if len(s.buf) > scratchKeep {
		s.small = 0
	}
	if cap(s.buf) > scratchKeep && s.small > scratchKeepCalls {
		s.buf = nil
	}
	s.buf = s.buf[:0]
}

// add returns n more bytes, of arbitrary content, and their offset. They are valid until the next call.
func (s *scratch) add(n uint32) (off uint32, room []byte) {
	size := uint64(len(s.buf)) + uint64(n)
	if size > math.MaxUint32 {
		panic("flow: more than 4 GiB of identities")
	}
	off = uint32(len(s.buf))
	s.buf = slices.Grow(s.buf, int(n))[:size]
	return off, s.buf[off:]
}
