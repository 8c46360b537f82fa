// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Path is the way that a frame took through a network that sends each frame on two ways
// (IEC 62439-3): a LAN of the parallel redundancy protocol (PRP), or a direction of a ring
// of high-availability seamless redundancy (HSR). The ways of a network come in pairs.
type Path uint8

// The paths. A path of HSR has a number of four bits, of which the lowest is the port
// that the frame was sent at.
const (
	NoPath Path = 0 // no such frame
	LANA   Path = prpPaths | 0xa
	LANB   Path = prpPaths | 0xb

	hsrPaths Path = 0x10
	prpPaths Path = 0x20
)

// String returns "LAN A", "LAN B" or such as "HSR path 1", and "" for NoPath.
func (p Path) String() string {
	switch {
	case p.Ring():
		return fmt.Sprintf("HSR path %d", uint8(p&^hsrPaths))
	case p&prpPaths != 0:
		return fmt.Sprintf("LAN %X", uint8(p&^prpPaths))
	}
	return ""
}

// IsSecond reports whether p is the second path of its pair, such as LAN B.
func (p Path) IsSecond() bool { return p&1 != 0 }

// Ring reports whether p is a direction of a ring. A frame to a station passes each link in only
// one direction.
func (p Path) Ring() bool { return p&hsrPaths != 0 }

// PathOf returns the path of frame i of b, and the number that its sender gave the frame on
// both paths. It returns NoPath for links other than Ethernet, and where PRP's trailer was
// not captured. It panics if b has no frame i.
func PathOf(b *capture.Batch, i int) (p Path, sequence uint16) {
	f := &b.Frames[i]
	frame := b.Data(i)
	if b.Interfaces[f.Interface].LinkType != capture.LinkEthernet || len(frame) < plainStart || IsPlainEthernet(frame) {
		return NoPath, 0
	}
	return readPath(frame, len(frame)-FCSLen(b, i), f.CapLen >= f.WireLen)
}

// FCSLen returns how many bytes of frame check sequence Ethernet frame i of b has at its end, as
// capture.Batch.FCSLen does. If the capture does not say, it is 4 if the frame has a right sequence behind a
// trailer of PRP. It panics if b has no frame i.
func FCSLen(b *capture.Batch, i int) int {
	n, frame := b.FCSLen(i), b.Data(i)
	if end := len(frame) - fcsLen; n == 0 && end >= plainStart+2 && binary.BigEndian.Uint16(frame[end-2:]) == trailerSuffix {
		n = int(checkSequence(frame, 0, b.Frames[i].WireLen))
	}
	return n
}

// IsPlainEthernet reports whether an Ethernet frame has an IP header right behind its type
// field and ends without a PRP trailer, so that PathOf returns NoPath. Nearly all frames are
// plain. The frame has at least 14 bytes.
func IsPlainEthernet(frame []byte) bool {
	const each = 1<<48 | 1<<32 | 1<<16 | 1 // a bit of four numbers of 16
	const ip4, ip6 = iana.TypeIPv4 >> 8, iana.TypeIPv6&0xff<<8 | iana.TypeIPv6>>8
	// Behind the trailer may come a check sequence of some such numbers.
	last := binary.LittleEndian.Uint64(frame[len(frame)-8:]) ^ each*(trailerSuffix&0xff<<8|trailerSuffix>>8)
	typ := binary.LittleEndian.Uint16(frame[plainStart-2:])
	return (last-each)&^last&(each<<15) == 0 && (typ == ip4 || typ == ip6)
}

// readPath reads the path of an Ethernet frame that ends before its check sequence at end,
// if it was captured whole.
func readPath(frame []byte, end int, whole bool) (p Path, sequence uint16) {
	const tag = 4
	at := plainStart
	typ := binary.BigEndian.Uint16(frame[at-2:])
	for ; iana.IsVLAN(typ); typ = binary.BigEndian.Uint16(frame[at-2:]) {
		if at += tag; at > len(frame) {
			return NoPath, 0
		}
	}
	if typ == iana.TypeHSR {
		if at+tag > len(frame) {
			return NoPath, 0
		}
		return hsrPaths | Path(frame[at]>>4), binary.BigEndian.Uint16(frame[at+2:])
	}
	if !whole || end < at {
		return NoPath, 0
	}
	if lan, sequence := trailerOf(frame[at:end]); lan != 0 && isTrailing(frame[:end], at, typ) {
		return prpPaths | Path(lan), sequence
	}
	return NoPath, 0
}

// isTrailing reports whether the payload that typ announces at the given offset ends before
// the trailer. Otherwise its own last bytes look like a trailer.
func isTrailing(frame []byte, at int, typ uint16) bool {
	var h Header
	end := len(frame) - trailerLen
	if typ <= maxLength {
		return at+int(typ) <= end
	}
	known := typ == iana.TypeIPv4 && h.ip4(frame, at) || typ == iana.TypeIPv6 && h.ip6(frame, at)
	return !known || int(h.End) <= end
}

// plainStart is where IP starts in Ethernet frames without tags.
const plainStart = 14

const (
	// Length and suffix of PRP's trailer.
	trailerLen    = 6
	trailerSuffix = 0x88fb
)

// trailerOf reads the redundancy control trailer of the parallel redundancy protocol (IEC
// 62439-3, 4.1.10) at the end of a payload: a sequence number, four bits of LAN, twelve
// bits of length, and a suffix. The length counts payload and trailer, but may leave out
// padding. lan is 0 without a trailer.
func trailerOf(payload []byte) (lan uint8, sequence uint16) {
	n := len(payload)
	if n < trailerLen || binary.BigEndian.Uint16(payload[n-2:]) != trailerSuffix {
		return 0, 0
	}
	word := binary.BigEndian.Uint16(payload[n-4:])
	length := int(word & 0xfff)
	padded := n <= minPayload+trailerLen && length >= trailerLen && length <= n
	if lan = uint8(word >> 12); lan != 0xa && lan != 0xb || length != n && !padded {
		return 0, 0
	}
	return lan, binary.BigEndian.Uint16(payload[n-trailerLen:])
}
