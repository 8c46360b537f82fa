// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// unfit finds packets that cannot be originals of fit packets: no receiver takes them, or their
// checksums are wrong or cannot be verified. identities.md and keep.md have the rule. This is its
// second implementation, plain and slow, and independent of package identity.
type unfit struct {
	sums   bool             // checksums above IP count
	bytes  bool             // a shorter packet may equal the beginning of a longer packet
	outer  *headers.Decoder // nil where identities are of outer headers
	header [1]headers.Header
}

func newUnfit(cfg *Config) *unfit {
	u := &unfit{sums: !cfg.AnyChecksum && !cfg.Across && cfg.Identity.Uneven(), bytes: cfg.Identity.Bytes > 0}
	if cfg.Identity.Kind == identity.Inner {
		u.outer = headers.NewDecoder(headers.DecoderConfig{})
	}
	return u
}

// is reports whether packet i of b, which h describes, is unfit.
func (u *unfit) is(b *capture.Batch, i int, h *headers.Header) bool {
	d := b.Data(i)
	if h.Version != 0 && isRefused(d[h.Start:h.End]) {
		return true
	}
	o := h
	if u.outer != nil {
		o = &u.header[0]
		u.outer.Decode(u.header[:], b, i)
	}
	if o.Version != 0 {
		end := datagramLen(d[o.Start:])
		if o != h && isRefused(d[o.Start:o.End]) || u.bytes && end > 0 && uint64(o.Start)+end > uint64(b.Frames[i].WireLen) {
			return true
		}
	}
	return u.sums && isUnverified(b, i, h)
}

// isRefused reports whether no receiver takes a packet with this IP header.
func isRefused(ip []byte) bool {
	if ip[0]>>4 == 6 {
		return ip[7] == 0
	}
	size := 4 * int(ip[0]&15)
	wrong := len(ip) >= size && ip[10]|ip[11] != 0 && ones(ip[:size]) != 0xffff
	return ip[8] == 0 || wrong
}

// isUnverified reports whether a packet is not whole, or has a wrong checksum.
func isUnverified(b *capture.Batch, i int, h *headers.Header) bool {
	d, wire := b.Data(i), b.Frames[i].WireLen
	if h.Version == 0 {
		if p := (headers.NonIPParts{}); p.Read(b, i, h) {
			return p.Size < p.Wire // without padding
		}
		return h.End-h.Start < h.Wire
	}
	ip := d[h.Start:h.End]
	switch whole := datagramLen(ip); {
	case whole > uint64(len(ip)), whole == 0 && uint32(len(d)) < wire:
		return true
	case h.Flags&headers.FlagFragment != 0, h.L4 != h.Start+20 && h.Version == 4, h.L4 != h.Start+40 && h.Version == 6:
		return false // there is no checksum that can be verified
	}
	upper := d[h.L4:h.End]
	ends := ip[12:20]
	if h.Version == 6 {
		ends = ip[8:40]
	}
	return isWrong(upper, ends, h.Proto)
}

// isWrong reports whether the checksum of a packet between two addresses is wrong.
func isWrong(upper, ends []byte, proto uint8) bool {
	least := map[uint8]int{1: 4, 6: 20, 17: 8, 58: 4}[proto]
	if proto == 17 && len(upper) >= 8 {
		n := int(binary.BigEndian.Uint16(upper[4:]))
		if n < 8 || n > len(upper) {
			return false // no datagram
		}
		if upper = upper[:n]; !anyOf(upper[6:8]) {
			return len(ends) > 8
		}
	}
	if least == 0 || len(upper) < least {
		return false
	}
	var all []byte
	if proto != 1 {
		all = append(all, ends...)
		all = binary.BigEndian.AppendUint32(append(all, 0, 0, 0, proto), uint32(len(upper)))
	}
	all = append(all, upper...)
	if len(all)%2 != 0 {
		all = append(all, 0)
	}
	return ones(all) != 0xffff
}
