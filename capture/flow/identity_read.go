package flow

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
)

// Read decodes the frames from to from+len(protocols)-1 of b, writes what their IP
// headers carry to protocols, and gives their identities, as Gather does with the
// headers that its kind expects. It is faster, since most datagrams that are digested
// in place need no Header.
func (g *Identity) Read(protocols []Protocol, b *capture.Batch, from int) (buf []byte, msgs []asm.Message) {
	if g.place && g.kind != Frame {
		g.msgs = room(g.msgs, len(protocols))
		g.readPlaces(g.msgs, protocols, b, from)
		return b.Buf, g.msgs
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
func (g *Identity) readPlaces(msgs []asm.Message, protocols []Protocol, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(msgs)]
	for i := 0; i < len(msgs); {
		if n := ethernetFrames(frames[i:], b.Interfaces); n > 0 {
			g.readEthernet(msgs[i:i+n], protocols[i:i+n], b, from+i)
			i += n
			continue
		}
		g.readPlace(&msgs[i], &protocols[i], b, from+i)
		i++
	}
}

// readEthernet reads Ethernet frames, the rare ones one by one.
func (g *Identity) readEthernet(msgs []asm.Message, protocols []Protocol, b *capture.Batch, from int) {
	placeFrames(msgs, b.Frames[from:from+len(msgs)])
	g.rest = room(g.rest, (len(msgs)+63)/64)
	asm.PlaceDatagrams(g.datagrams, msgs, protocols, g.rest, b.Buf)
	for w, word := range g.rest {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			g.readPlace(&msgs[i], &protocols[i], b, from+i)
		}
	}
}

// readPlace reads frame i of b the general way.
func (g *Identity) readPlace(m *asm.Message, protocol *Protocol, b *capture.Batch, i int) {
	h := &g.decode(b, i, 1)[0]
	*protocol = h.Protocol()
	placeDatagram(m, b.Buf, b.Frames[i].Data, h, &g.places)
}
