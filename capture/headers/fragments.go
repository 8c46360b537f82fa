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
		together := i // frames before it are looked at one by one
		for end := i + n; i < end; i++ {
			if i >= together && link == capture.LinkEthernet {
				i += plainFrames(b.Buf, b.Frames[i:end])
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

const (
	// plainGroup is how many frames are looked at together, as nearly all are plain.
	plainGroup = 8
	// aloneFrames is how many frames are looked at one by one behind some that are not plain.
	aloneFrames = 8 * plainGroup
)

// notPlain6 is 0 for what may follow the header of an IPv6 datagram that is no fragment.
var notPlain6 = func() (table [256]uint32) {
	for proto, is := range iana.IsExtension {
		if is {
			table[proto] = 1
		}
	}
	return table
}()

// plainFrames returns the number of frames in groups before the first group that has others than
// arePlain accepts.
func plainFrames(buf []byte, frames []capture.Frame) (n int) {
	for len(frames)-n >= plainGroup && arePlain(buf, (*[plainGroup]capture.Frame)(frames[n:])) {
		n += plainGroup
	}
	return n
}

// arePlain reports whether all frames are Ethernet and IP without tags, and no fragments. A CPU
// cannot predict the mix of versions, so no branch depends on it.
func arePlain(buf []byte, frames *[plainGroup]capture.Frame) bool {
	const least, ip4, ip6 = 34, iana.TypeIPv4 >> 8, iana.TypeIPv6&0xff<<8 | iana.TypeIPv6>>8
	others := uint32(0)
	for i := range frames {
		f := &frames[i]
		if f.CapLen < least {
			return false
		}
		d := (*[least]byte)(buf[f.Data:])
		typ, field := uint32(binary.LittleEndian.Uint16(d[12:])), uint32(binary.LittleEndian.Uint16(d[20:]))
		others |= (typ ^ ip4 | field&0xff3f) * (typ ^ ip6 | notPlain6[uint8(field)])
	}
	return others == 0
}

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
