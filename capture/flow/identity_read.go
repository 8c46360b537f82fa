package flow

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// FromFrames decodes the frames from to from+len(protocols)-1 of b, writes what their IP
// headers carry to protocols, and gives their identities, as Gather does with the
// headers that its kind expects. It is faster, since most datagrams that are digested
// in place need no Header.
func (g *Identity) FromFrames(protocols []Protocol, b *capture.Batch, from int) *Messages {
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

// decode returns the headers of n frames, which are valid until the next call.
func (g *Identity) decode(b *capture.Batch, from, n int) []Header {
	g.headers = resize(g.headers, n)
	g.decoder.Decode(g.headers, b, from)
	return g.headers
}

// readDatagrams does the work of Read for datagrams in place.
func (g *Identity) readDatagrams(protocols []Protocol, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(protocols)]
	for i := 0; i < len(protocols); {
		if n := ethernetFrames(frames[i:], b.Interfaces); n > 0 {
			g.readFast(protocols, b, from, i, i+n)
			i += n
			continue
		}
		g.readSlow(protocols, b, from, i)
		i++
	}
}

// readFast reads those of a run of frames that are Ethernet, from number first to
// end-1, the rare ones one by one.
func (g *Identity) readFast(protocols []Protocol, b *capture.Batch, from, first, end int) {
	msgs := g.out.msgs[first:end]
	zeroCopyFrames(msgs, b.Frames[from+first:from+end])
	g.slow = resize(g.slow, (len(msgs)+63)/64)
	headers.PlaceDatagrams(g.datagrams, msgs, protocols[first:end], g.slow, b.Buf)
	for w, word := range g.slow {
		for ; word != 0; word &= word - 1 {
			g.readSlow(protocols, b, from, first+w*64+bits.TrailingZeros64(word))
		}
	}
}

// readSlow reads frame from+i of b the general way.
func (g *Identity) readSlow(protocols []Protocol, b *capture.Batch, from, i int) {
	h := &g.decode(b, from+i, 1)[0]
	protocols[i] = h.Protocol()
	zeroCopyDatagram(&g.out.msgs[i], b.Buf, b.Frames[from+i].Data, h, &g.layouts)
	g.addNonIP(b, from, i, h)
}
