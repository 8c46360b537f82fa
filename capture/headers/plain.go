// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Plain says which headers all programs read alike: a link header, and up to two VLAN tags, of which
// the second is of 802.1Q. Programs differ in which other headers they open, which of their fields they
// check, and whether a packet in a tunnel belongs to the same flow as the packet outside.
type Plain struct {
	// Outer are the ethertypes of tags that may come first.
	Outer []uint16
}

// Has reports whether the packet in frame d, which h describes, is in such headers only. Frames
// without IP count as such. On link types that are not Ethernet, cooked, loopback or raw, all packets
// outside of tunnels do.
func (p *Plain) Has(h *Header, link capture.LinkType, d []byte) bool {
	if h.Version == 0 || h.Flags&FlagInner != 0 {
		return h.Version == 0
	}
	switch link {
	case capture.LinkEthernet:
		return p.hasTags(h, d)
	case capture.LinkRaw, capture.LinkRawDLT12, capture.LinkRawDLT14:
		return h.Start == 0
	case capture.LinkNull, capture.LinkLoop:
		return h.Start == 4
	case capture.LinkLinuxSLL:
		return h.Start == 16
	case capture.LinkLinuxSLL2:
		return h.Start == 20
	}
	return true
}

// hasTags is Has for Ethernet.
func (p *Plain) hasTags(h *Header, d []byte) bool {
	at := 12
	for tags := 0; ; tags++ {
		switch typ := binary.BigEndian.Uint16(d[at:]); {
		case int(h.Start) == at+2:
			return typ == iana.TypeIPv4 || typ == iana.TypeIPv6
		case tags == 0 && slices.Contains(p.Outer, typ), tags == 1 && typ == iana.TypeVLAN:
			if at += 4; int(h.Start) < at+2 {
				return false
			}
		default:
			return false
		}
	}
}
