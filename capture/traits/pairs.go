// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// PairReader hashes the two addresses of packets, so that packets can be shared out without
// state: all packets of a conversation have the same hash, in both directions, with all
// fragments. It opens tunnels. One goroutine at a time may use it.
type PairReader struct {
	keys    sightingKeys
	outer   headers.Decoder
	tunnels *headers.Tunnels
	headers []headers.Header
	hashes  []uint64
}

// NewPairReader returns a reader. Its hashes are the same in each run, so that a conversation
// stays where it is over a restart. tunnels are the UDP ports of tunnels; nil stands for the
// usual ports.
func NewPairReader(tunnels *headers.Tunnels) *PairReader {
	return &PairReader{keys: newSightingKeys(0), tunnels: tunnels}
}

// Read returns a hash of each frame of b, 0 for frames without an IP header. It is valid until
// the next call. The fragments of a datagram that carries a tunnel have the hash of the
// tunnel's ends, since only the first fragment shows the content.
func (r *PairReader) Read(b *capture.Batch) []uint64 {
	r.headers, r.hashes = capture.Resize(r.headers, len(b.Frames)), capture.Resize(r.hashes, len(b.Frames))
	r.outer.Decode(r.headers, b, 0)
	for i := range r.headers {
		h := &r.headers[i]
		if h.Flags&headers.FlagFragment == 0 {
			r.tunnels.Open(h, b.Data(i), b.Frames[i].WireLen)
		}
		ip := b.Buf[b.Frames[i].Data+h.Start:]
		switch h.Version {
		case 4:
			r.hashes[i] = r.keys.ends.HashOne(le64(ip[12:]), 0, 0, 0)
		case 6:
			r.hashes[i] = r.keys.conversation6(ip, 0, 0, 0)
		default:
			r.hashes[i] = 0
		}
	}
	return r.hashes
}
