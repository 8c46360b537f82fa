// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Fragment is a frame of a batch whose outermost IP header is of a fragment.
type Fragment struct {
	Frame  int
	Header Header // without tunnels
}

// AppendFragments appends the fragments of b to dst, in their order, if their protocol can carry
// packets. It takes constant time for each frame whose headers before IP are common, and looks at
// little of it.
func AppendFragments(dst []Fragment, b *capture.Batch) []Fragment {
	for i := 0; i < len(b.Frames); {
		n, link := LinkRun(b.Frames[i:], b.Interfaces)
		for end := i + n; i < end; i++ {
			if f := &b.Frames[i]; !mayBeFragment(link, b.Buf[f.Data:f.Data+f.CapLen], f.WireLen) {
				continue
			}
			f := Fragment{Frame: i}
			decodeSlow(&f.Header, b, i)
			if f.Header.Flags&FlagFragment != 0 && mayTunnel[f.Header.Proto] {
				dst = append(dst, f)
			}
		}
	}
	return dst
}

// mayBeFragment reports whether a frame may be a fragment. On the wire it ends at end.
func mayBeFragment(link capture.LinkType, d []byte, end uint32) bool {
	var typ uint16
	o := 14
	if link != capture.LinkEthernet {
		var h Header
		if typ, o = commonLink(&h, link, d); typ == 0 {
			return true
		}
	} else if typ = iana.TypeARP; len(d) >= o {
		typ = binary.BigEndian.Uint16(d[12:])
	}
	for range maxTypes {
		switch typ {
		case iana.TypeIPv4:
			return o+8 <= len(d) && binary.BigEndian.Uint16(d[o+6:])&0x3fff != 0
		case iana.TypeIPv6:
			return o+7 <= len(d) && iana.IsExtension[d[o+6]]
		case iana.TypeARP:
			return false
		case iana.TypeVLAN, iana.TypeQinQ, iana.TypeQinQOld, iana.TypeQinQOld2:
			if len(d) < o+4 {
				return false
			}
			typ, o = binary.BigEndian.Uint16(d[o+2:]), o+4
		case iana.TypeMPLS, iana.TypeMPLSUp:
			typ, o = belowLabels(d, o, end)
		case iana.TypePPPoE:
			typ, o = insidePPPoE(d, o)
		default:
			return true
		}
	}
	return true
}
