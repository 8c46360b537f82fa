// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/frames"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
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
		together := i // the kernel does not look at frames before it
		for end := i + n; i < end; i++ {
			if i >= together && link == capture.LinkEthernet {
				i += whole.Count(frames.Of(b.Frames[i:end]), b.Buf)
				if together = i + aloneFrames; i == end {
					break
				}
			}
			f := &b.Frames[i]
			if link == capture.LinkEthernet && isPlain(b.Buf, f) || !mayBeFragment(link, b.Data(i), f.WireLen) {
				continue
			}
			is := Fragment{Frame: i}
			decodeSlow(&is.Header, b, i)
			if is.Header.Flags&FlagFragment != 0 && mayTunnel[is.Header.Proto] {
				dst = append(dst, is)
			}
		}
	}
	return dst
}

// aloneFrames is how many frames the kernel does not look at behind a frame that it could not judge.
const aloneFrames = 64

// whole knows frames that are no fragments.
var whole = kernels.NewWhole(&iana.IsExtension)

// isPlain reports whether an Ethernet frame is no fragment: IP behind at most fastTags tags, as in
// nearly all frames.
func isPlain(buf []byte, f *capture.Frame) bool {
	const least, ip4, ip6, tag = 34 + 4*fastTags, iana.TypeIPv4 >> 8, iana.TypeIPv6&0xff<<8 | iana.TypeIPv6>>8, iana.TypeVLAN >> 8
	if f.CapLen < least {
		return false
	}
	d := buf[f.Data:][12:least]
	for n := 0; n <= 4*fastTags; n += 4 {
		field := binary.LittleEndian.Uint16(d[n+8:])
		switch binary.LittleEndian.Uint16(d[n:]) {
		case ip4:
			return field&0xff3f == 0
		case ip6:
			return !iana.IsExtension[uint8(field)]
		case tag:
			continue
		}
		break
	}
	return false
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
