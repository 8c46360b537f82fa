package flow

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// Read decodes the frames from to from+len(protocols)-1 of b, writes what their IP
// headers carry to protocols, and gives their identities, as Gather does with the
// headers that its kind expects. It is faster, since most datagrams that are digested
// in place need no Header.
func (g *Identity) Read(protocols []Protocol, b *capture.Batch, from int) *Messages {
	if g.place && g.kind != Frame {
		m := g.begin(b, len(protocols))
		g.readPlaces(protocols, b, from)
		g.copyBare(b.Buf)
		return m
	}
	h := g.decode(b, from, len(protocols))
	for i := range h {
		protocols[i] = h[i].Protocol()
	}
	return g.Gather(b, from, h)
}

// decode returns the headers of n frames, which are valid until the next call.
func (g *Identity) decode(b *capture.Batch, from, n int) []Header {
	g.headers = room(g.headers, n)
	g.decoder.Decode(g.headers, b, from)
	return g.headers
}

// readPlaces does the work of Read for datagrams in place.
func (g *Identity) readPlaces(protocols []Protocol, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(protocols)]
	for i := 0; i < len(protocols); {
		if n := ethernetFrames(frames[i:], b.Interfaces); n > 0 {
			g.readEthernet(protocols, b, from, i, i+n)
			i += n
			continue
		}
		g.readPlace(protocols, b, from, i)
		i++
	}
}

// readEthernet reads those of a run of frames that are Ethernet, from number first to
// end-1, the rare ones one by one.
func (g *Identity) readEthernet(protocols []Protocol, b *capture.Batch, from, first, end int) {
	msgs := g.out.msgs[first:end]
	placeFrames(msgs, b.Frames[from+first:from+end])
	g.rest = room(g.rest, (len(msgs)+63)/64)
	headers.FindDatagrams(g.datagrams, msgs, protocols[first:end], g.rest, b.Buf)
	for w, word := range g.rest {
		for ; word != 0; word &= word - 1 {
			g.readPlace(protocols, b, from, first+w*64+bits.TrailingZeros64(word))
		}
	}
}

// readPlace reads frame from+i of b the general way.
func (g *Identity) readPlace(protocols []Protocol, b *capture.Batch, from, i int) {
	h := &g.decode(b, from+i, 1)[0]
	protocols[i] = h.Protocol()
	placeDatagram(&g.out.msgs[i], b.Buf, b.Frames[from+i].Data, h, &g.places)
	g.addBare(b, from, i, h)
}
