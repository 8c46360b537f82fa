package flow

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// IdentityConfig says what makes two packets the same packet. The zero value compares IP
// datagrams, less what routers change.
type IdentityConfig struct {
	Kind   IdentityKind
	Ignore Ignore // what is left out: IgnoreOnly(0) leaves out nothing
	Bytes  int    // how many bytes of the identity count; 0 or less means all
}

// ignored returns the fields that are left out.
func (c IdentityConfig) ignored() Fields { return c.Ignore.Apply(c.Kind) }

// Identity gathers the bytes by which packets are compared. It keeps its
// buffers from call to call, so an Identity serves one goroutine.
type Identity struct {
	kind     IdentityKind
	ignore   Fields
	masks    ipMasks
	limit    uint32
	zeroCopy bool // messages are where the batch has them
	layouts  [8]tweakLayout
	buffer   scratch
	copied   scratch // of frames without IP
	out      Messages

	// What Read needs.
	datagrams *headers.Datagrams
	slow      []uint64
	decoder   Decoder
	headers   []Header
}

// Tags in the top byte of a message's tweak keep identities of different kinds
// apart. That of frames is followed by the length on the wire.
const (
	tweakFrame = 1 << 56
	tweakL3    = 2 << 56
)

// NewIdentity returns an Identity. It panics if the kind is not one of the
// constants.
func NewIdentity(cfg IdentityConfig) *Identity {
	if int(cfg.Kind) >= len(identityKindNames) {
		panic("flow: NewIdentity: unknown kind")
	}
	ignore := cfg.ignored()
	g := &Identity{kind: cfg.Kind, ignore: ignore, masks: ignore.ipMasks(), limit: math.MaxUint32}
	if cfg.Bytes > 0 && uint64(cfg.Bytes) < math.MaxUint32 {
		g.limit = uint32(cfg.Bytes)
	}
	g.decoder = Decoder{inner: cfg.Kind == Inner}
	g.zeroCopy, g.layouts = canZeroCopy(cfg), ignore.tweakLayouts()
	g.datagrams = headers.NewDatagrams(g.layouts[4].firstMask, g.layouts[6].firstMask, g.decoder.slowProtocols())
	return g
}

// FromHeaders gives the identities of the frames from to from+len(h)-1 of b, which h
// describes. Whole frames, and datagrams without the fields that are left out by
// default, lie where the batch has them. All others are copied into buffers of g,
// which are given back once large frames have passed. The result is valid until the
// next call, or until b is filled again.
//
// Identities of kind Frame expect headers that were decoded without
// Config.Inner, those of kind Inner with it. Gather panics if the bytes of the
// frames come to more than 4 GiB, which no batch can hold.
func (g *Identity) FromHeaders(b *capture.Batch, from int, h []Header) *Messages {
	frames := b.Frames[from : from+len(h)]
	m := g.begin(b, len(h))
	switch {
	case g.zeroCopy && g.kind == Frame:
		zeroCopyFrames(m.msgs, frames)
	case g.zeroCopy:
		if zeroCopyDatagrams(m.msgs, b.Buf, frames, h, &g.layouts) {
			for i := range h {
				g.addNonIP(b, from, i, &h[i])
			}
		}
	case g.kind == Frame:
		m.buf = g.buffer.get(g.describeFrames(m.msgs, frames, h))
		g.copyFrames(m.buf, m.msgs, b, from, h)
	default:
		m.buf = g.buffer.get(g.describeDatagrams(m.msgs, b, from, h))
		g.copyDatagrams(m.buf, m.msgs, b, from, h)
	}
	g.copyNonIP(b.Buf)
	return m
}

// describeDatagrams lays the messages of identities L3 and Inner out and
// returns the size of the buffer. That of a frame which is entered elsewhere is empty.
func (g *Identity) describeDatagrams(msgs []digest.Message, b *capture.Batch, from int, h []Header) uint64 {
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

// copyDatagrams fills the buffer for identities L3 and Inner.
func (g *Identity) copyDatagrams(buf []byte, msgs []digest.Message, b *capture.Batch, from int, h []Header) {
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
		if h.L4 != 0 {
			v := view{h: h, base: h.Start}
			v.clearUpper(dst[:m.Len], b.Data(from+i), g.ignore)
		}
	}
}

// padded returns n rounded up to a multiple of 16.
func padded(n uint32) uint64 { return (uint64(n) + 15) &^ 15 }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func and64(b []byte, mask uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)&mask)
}
