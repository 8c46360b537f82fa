// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
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
	// Tunnels are the UDP ports of tunnels; nil stands for the usual ports.
	Tunnels *headers.Tunnels
}

// Decode says how the headers are decoded that identities begin with.
func (c *Config) Decode() headers.DecoderConfig {
	return headers.DecoderConfig{Inner: c.Kind == Inner, Tunnels: c.Tunnels}
}

// Validate returns an error for an unknown kind or field.
func (c Config) Validate() error {
	switch unknown := c.Ignore.fields >> len(fieldNames); {
	case int(c.Kind) >= len(kindNames):
		return fmt.Errorf("unknown identity %d", c.Kind)
	case unknown != 0:
		return fmt.Errorf("unknown fields %#x to ignore", unknown<<len(fieldNames))
	}
	return nil
}

// ignored returns the fields that are left out.
func (c Config) ignored() Fields { return c.Ignore.Apply(c.Kind) }

// Uneven reports whether equal packets may differ in their Integrity: in their captured
// length, or in a checksum over their payload.
func (c Config) Uneven() bool {
	return c.Bytes > 0 || c.ignored()&sumFields != 0
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
	varies     [256]uint8          // see Fields.varying
	known      layouts
	out        Messages

	// For FromFrames.
	datagrams *kernels.Datagrams // in Ethernet frames
	untyped   *kernels.Datagrams // in others, after headers.PlaceIP
	slow      []uint64
	deeper    headers.Deeper
	tunnels   *headers.Tunnels
	decoder   headers.Decoder
	headers   []headers.Header
	broken    []uint64          // of the messages that a kernel has looked at
	outer     headers.Decoder   // does not open tunnels
	around    [1]headers.Header // around a tunnel
	quick     quickMasks
}

// The top byte of a message's tweak keeps identities of different kinds apart. In the
// tweak of a frame, the length on the wire follows.
const (
	tweakFrame = 1 << 56
	tweakL3    = 2 << 56
)

// New returns an Identity. It panics if Validate returns an error.
func New(cfg Config) *Identity {
	if err := cfg.Validate(); err != nil {
		panic("identity: New: " + err.Error())
	}
	ignore := cfg.ignored()
	g := &Identity{kind: cfg.Kind, ignore: ignore, ipMasks: ignore.ipMasks(), limit: math.MaxUint32}
	if cfg.Bytes > 0 && uint64(cfg.Bytes) < math.MaxUint32 {
		g.limit = uint32(cfg.Bytes)
	}
	g.tunnels, g.decoder = cfg.Tunnels, *headers.NewDecoder(cfg.Decode())
	g.deeper = g.decoder.Deeper()
	g.short, g.layouts = canShorten(cfg), ignore.tweakLayouts()
	if !g.short && ignore != 0 || ignore&(sumFields|IPOptions|MAC|VLAN) != 0 {
		g.masks, g.varies = digest.NewMasks(), ignore.varying()
	}
	g.tweakMasks = [...]uint64{^uint64(0), ^uint64(0), g.layouts[6].tweakMask(), ^uint64(0)}
	g.datagrams = kernels.NewDatagrams(g.layouts[4].firstMask, g.layouts[6].firstMask, new(headers.Decoder).SlowProtocols())
	g.untyped = g.datagrams.Untyped()
	if g.kind != Frame { // labels stay in its messages, and layOutFound would take them for tags
		g.datagrams = headers.BehindLabels(g.datagrams)
	}
	return g
}

// FromHeaders returns the identities of the frames from to from+len(h)-1 of b, which h
// describes. Their messages lie in b, except for frames without IP, frames with tags that do
// not count, and frames with fields far from their beginning that do not count. The result is
// valid until the next call, or until b is filled again.
//
// Kind Frame expects headers that were decoded without headers.DecoderConfig.Inner, kind Inner
// with it.
func (g *Identity) FromHeaders(b *capture.Batch, from int, h []headers.Header) *Messages {
	g.begin(b, len(h))
	g.layOut(b, from, 0, h)
	return g.end()
}

// layOut lays out messages from number first on, of the frames from from+first on, which h
// describes.
func (g *Identity) layOut(b *capture.Batch, from, first int, h []headers.Header) {
	msgs, frames, before := g.out.msgs[first:][:len(h)], b.Frames[from+first:][:len(h)], len(g.out.nonIP)
	switch {
	case g.kind == Frame:
		zeroCopyFrames(msgs, frames)
		skipCaptureHeaders(msgs, b, from+first)
		if g.ignore != 0 || g.limit != math.MaxUint32 {
			for i := range h {
				g.frame(b, from, first+i, &h[i])
			}
		}
	case g.short:
		zeroCopyDatagrams(msgs, b.Buf, frames, h, &g.layouts)
		fallthrough
	default:
		for i := range h {
			g.datagram(b, from, first+i, &h[i])
		}
	}
	g.doubtHeaders(b, from, first, h, g.out.nonIP[before:])
	for i := range h {
		g.breakHeader(b, from, first+i, &h[i])
		if h[i].Flags&headers.FlagClosed != 0 {
			g.out.closed = append(g.out.closed, uint32(first+i))
		}
	}
}

// datagram lays out a message of kinds L3 and Inner. zeroCopyDatagrams has done so if it is short.
func (g *Identity) datagram(b *capture.Batch, from, i int, h *headers.Header) {
	m, data := &g.out.msgs[i], b.Frames[from+i].Data
	if !g.short {
		*m = digest.Message{Off: data + h.Start, Len: h.End - h.Start, Tweak: tweakL3}
		if h.Version == 0 {
			m.Tweak = tweakFrame | uint64(h.Wire)
		}
	}
	if h.Version == 0 {
		if !g.addNonIP(b, from, i, h) {
			g.frame(b, from, i, h)
		}
		return
	}
	m.Len = min(m.Len, g.limit)
	if g.masks == nil {
		return
	}
	d := datagramOf(h, data)
	d.end = d.ip + min(d.end-d.ip, g.limit) // what is not compared says nothing
	g.leaveOut(i, &d)
}

// FromFrames decodes the frames from to from+len(protocols)-1 of b, writes their IP protocols
// to protocols, and returns the identities that FromHeaders would return. It is faster, since
// most frames need no Header.
func (g *Identity) FromFrames(protocols []headers.Protocol, b *capture.Batch, from int) *Messages {
	g.begin(b, len(protocols))
	frames := b.Frames[from : from+len(protocols)]
	for i := 0; i < len(protocols); {
		n, link := headers.LinkRun(frames[i:], b.Interfaces)
		if g.limit != math.MaxUint32 || g.kind == Frame && link != capture.LinkEthernet {
			g.readHeaders(protocols[i:i+n], b, from, i)
		} else {
			g.readFast(protocols, link, b, from, i, i+n)
		}
		i += n
	}
	return g.end()
}

// readHeaders lays out messages from number first on by way of headers.
func (g *Identity) readHeaders(protocols []headers.Protocol, b *capture.Batch, from, first int) {
	g.headers = capture.Resize(g.headers, len(protocols))
	g.decoder.Decode(g.headers, b, from+first)
	for i := range g.headers {
		protocols[i] = g.headers[i].Protocol()
	}
	g.layOut(b, from, first, g.headers)
}

// readFast lays out the frames from number first to end-1, of one link type. A kernel takes
// nearly all of them, in tunnels too, and marks the rest for the slow path.
func (g *Identity) readFast(protocols []headers.Protocol, link capture.LinkType, b *capture.Batch, from, first, end int) {
	msgs, rule, frames := g.out.msgs[first:end], g.datagrams, b.Frames[from+first:from+end]
	zeroCopyFrames(msgs, frames)
	if link != capture.LinkEthernet {
		rule = g.untyped
		headers.PlaceIP(msgs, link, b.Buf)
	}
	g.slow = capture.Resize(g.slow, (len(msgs)+63)/64)
	found := kernels.FindDatagrams(rule, msgs, protocols[first:end], g.slow, b.Buf)
	g.breakFound(found, msgs, first, b.Buf)
	if g.kind == Inner {
		inside := g.deeper.Into(g.untyped, msgs, protocols[first:end], g.slow, b.Buf)
		g.breakFound(inside, msgs, first, b.Buf)
		found |= inside
	}
	if found&kernels.FoundCut != 0 || g.kind == Frame {
		g.doubtFound(msgs, frames, b.Buf, first)
	}
	if !g.short || g.masks != nil {
		g.layOutFound(msgs, protocols[first:end], frames, first)
	}
	for w, word := range g.slow {
		for ; word != 0; word &= word - 1 {
			g.readSlow(protocols, b, from, first+w*64+bits.TrailingZeros64(word))
		}
	}
}

// readSlow lays out frame from+i of b, which the fast path has left.
func (g *Identity) readSlow(protocols []headers.Protocol, b *capture.Batch, from, i int) {
	var h [1]headers.Header
	var p headers.NonIPParts
	if g.masks != nil {
		g.out.which[i] = 0 // the fast path may have taken the message for another
	}
	hasParts := g.decoder.DecodeSlow(&h[0], &p, b, from+i)
	protocols[i] = h[0].Protocol()
	if hasParts && g.kind != Frame {
		// The message may still be the datagram around a tunnel, which is not compared.
		zeroCopyFrames(g.out.msgs[i:i+1], b.Frames[from+i:][:1])
		g.addParts(&p, b, from, i, &h[0])
		g.breakHeader(b, from, i, &h[0])
		return
	}
	g.layOut(b, from, i, h[:])
}

// Messages are the identities of a run of frames.
type Messages struct {
	buf       []byte           // of the batch: holds msgs
	msgs      []digest.Message // of each frame; of the frames in copiedAs they do not count
	masks     *digest.Masks    // or nil
	which     []uint8          // the number of each message's mask
	datagrams bool             // zeroCopyDatagram has made msgs
	nonIP     []nonIPFrame     // frames without IP
	copied    scratch          // holds copies
	copies    []digest.Message // in place of the messages of some frames
	copiedAs  []uint32         // the numbers of these frames
	digests   []digest.Digest
	doubts    []Doubt
	closed    []uint32
	captured  Captured
	truncated uint64

	broken     []uint64 // see Broken
	someBroken bool
}

// Closed returns the numbers of the frames with a tunnel that was not opened: see
// headers.FlagClosed. They are valid as long as m.
func (m *Messages) Closed() []uint32 { return m.closed }

// Datagrams returns the messages, one for each frame, if they lie in the batch: see
// MessageStart and digest.Message.Tweak. Tweak>>60 is the IP version of a datagram; another value
// marks a frame without IP, or a truncated datagram. Datagrams returns false if the messages
// are whole frames or whole datagrams. They are valid as long as m.
func (m *Messages) Datagrams() ([]digest.Message, bool) { return m.msgs, m.datagrams }

// begin makes room for the messages of n frames of b.
func (g *Identity) begin(b *capture.Batch, n int) {
	m := &g.out
	m.buf, m.msgs, m.nonIP, m.doubts = b.Buf, capture.Resize(m.msgs, n), m.nonIP[:0], m.doubts[:0]
	m.datagrams, m.masks = g.short, g.masks
	if m.masks != nil {
		m.which = capture.Zeroed(m.which, n)
	}
	m.captured, m.truncated, m.closed = Captured{}, 0, m.closed[:0]
	m.broken, m.someBroken = capture.Zeroed(m.broken, (n+63)/64), false
	m.copies, m.copiedAs = m.copies[:0], m.copiedAs[:0]
	m.copied.reset()
}

// addCopy returns n bytes for the message of frame i of the run, which then does not lie in the batch.
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

// Buffers up to scratchKeep bytes are kept. A larger buffer, which only batches with very
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
		panic("identity: more than 4 GiB of identities")
	}
	off = uint32(len(s.buf))
	s.buf = slices.Grow(s.buf, int(n))[:size]
	return off, s.buf[off:]
}
