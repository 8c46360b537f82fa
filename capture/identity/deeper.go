// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Tunnels are taken in rounds over all frames that have them: headers.Deeper steps over what lies
// before the next IP header, and a kernel reads that.

// deeper has the frames of a round.
type deeper struct {
	headers.Deeper
	protocols []headers.Protocol
	slow      []uint64
}

// findDeeper looks into tunnels with kind Inner. msgs, protocols and g.slow are as FindDatagrams
// leaves them, and are so afterwards. It reports whether datagrams were captured in part.
func (g *Identity) findDeeper(msgs []digest.Message, protocols []headers.Protocol, buf []byte) (cut bool) {
	if g.kind != Inner {
		return false
	}
	g.deeper.MayTunnel(protocols)
	for range headers.MaxTunnels {
		if g.deeper.Open(msgs, protocols, g.slow, buf); len(g.deeper.Numbers) == 0 {
			break
		}
		cut = g.readDeeper(msgs, protocols, buf) || cut
		g.deeper.StillMayTunnel(protocols)
	}
	return cut
}

// readDeeper has a kernel read the datagrams of a round.
func (g *Identity) readDeeper(msgs []digest.Message, protocols []headers.Protocol, buf []byte) (cut bool) {
	p := &g.deeper
	n := len(p.Numbers)
	p.protocols, p.slow = capture.Resize(p.protocols, n), capture.Resize(p.slow, (n+63)/64)
	cut = kernels.FindDatagrams(g.untyped, p.Msgs, p.protocols, p.slow, buf)
	for i, number := range p.Numbers {
		msgs[number], protocols[number] = p.Msgs[i], p.protocols[i]
	}
	for w, word := range p.slow {
		for ; word != 0; word &= word - 1 {
			number := p.Numbers[w*64+bits.TrailingZeros64(word)]
			g.slow[number/64] |= 1 << (number % 64)
		}
	}
	return cut
}
