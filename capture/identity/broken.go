// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Broken returns a bit for each frame of the run that no receiver takes; nil if there is none. In
// its outermost or its compared IP header
//
//   - the checksum of IPv4 is wrong, and not 0, as network cards get it that are to fill it in (RFC
//     1122, section 3.2.1.2), or
//   - the time to live or the hop limit is 0 (RFC 791, section 3.2; RFC 8200, section 3), or
//   - the length goes beyond the frame as it was on the wire. This matters with Config.Bytes only:
//     otherwise such a packet equals no whole packet.
//
// Other headers that no receiver takes have fields that are compared. Broken is valid as long as m.
func (m *Messages) Broken() []uint64 {
	if !m.someBroken {
		return nil
	}
	return m.broken
}

// breaks notes that frame number i of the run is broken.
func (m *Messages) breaks(i int) {
	capture.SetBit(m.broken, i)
	m.someBroken = true
}

// breakFound looks for broken datagrams among msgs, which kernels have found in the run's frames from
// number first on. found says what some of them are.
func (g *Identity) breakFound(found kernels.Found, msgs []digest.Message, first int, buf []byte) {
	if found&kernels.FoundBroken == 0 {
		return
	}
	g.broken = capture.Zeroed(g.broken, (len(msgs)+63)/64)
	kernels.FindBroken(msgs, g.slow, g.broken, buf)
	for w, word := range g.broken {
		for ; word != 0; word &= word - 1 {
			g.out.breaks(first + w*64 + bits.TrailingZeros64(word))
		}
	}
}

// breakHeader looks at frame number i of the run, which h describes.
func (g *Identity) breakHeader(b *capture.Batch, from, i int, h *headers.Header) {
	d, wire := b.Data(from+i), uint64(b.Frames[from+i].WireLen)
	broken := isBroken(h, d)
	if h.Flags&headers.FlagInner != 0 {
		h = &g.around[0]
		g.outer.Decode(g.around[:], b, from+i)
		broken = broken || isBroken(h, d)
	}
	if !broken && g.limit != math.MaxUint32 && h.Version != 0 {
		end := h.WireEnd(d)
		broken = end != headers.UnknownEnd && end > wire
	}
	if broken {
		g.out.breaks(i)
	}
}

// isBroken reports whether no receiver takes the IP header that h describes.
func isBroken(h *headers.Header, d []byte) bool {
	switch ip := d[h.Start:h.End]; h.Version {
	case 4:
		size := int(ip[0]&15) * 4
		return ip[8] == 0 || size <= len(ip) && ip[10]|ip[11] != 0 && foldOnes(onesSum(0, ip[:size])) != 0xffff
	case 6:
		return ip[7] == 0
	}
	return false
}
