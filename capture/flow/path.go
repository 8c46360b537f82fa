package flow

import (
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

// Path is the way that a frame took through a network that sends each frame on two ways
// (IEC 62439-3): a LAN of the parallel redundancy protocol (PRP), or a direction of a ring
// of high-availability seamless redundancy (HSR). The ways of one network come in pairs.
type Path uint8

// The paths. Those of HSR have a number of four bits, of which the lowest one is the port
// that the frame was sent at.
const (
	NoPath Path = 0 // no such frame
	LANA   Path = prpPaths | 0xa
	LANB   Path = prpPaths | 0xb

	hsrPaths Path = 0x10
	prpPaths Path = 0x20
)

// pathNames has the names of paths.
var pathNames = func() (names [1 << 6]string) {
	for n := range 1 << 4 {
		names[int(hsrPaths)+n] = fmt.Sprintf("HSR path %d", n)
		names[int(prpPaths)+n] = fmt.Sprintf("LAN %X", n)
	}
	return names
}()

// String returns "LAN A", "LAN B" or such as "HSR path 1", and "" for NoPath.
func (p Path) String() string { return nameOf(pathNames[:], uint8(p)) }

// Other returns the other path of the pair. That of NoPath has no meaning.
func (p Path) Other() Path { return p ^ 1 }

// IsSecond reports whether p is the second path of its pair, such as LAN B.
func (p Path) IsSecond() bool { return p&1 != 0 }

// Ring reports whether p is a direction of a ring. On its way there, a frame to one
// station passes each link in one direction alone.
func (p Path) Ring() bool { return p&hsrPaths != 0 }

// PathOf returns the path of frame i of b, and the number that its sender gave the frame on
// both paths. It returns NoPath for links other than Ethernet, and where PRP's trailer was
// not captured. It panics if b has no frame i.
func PathOf(b *capture.Batch, i int) (p Path, sequence uint16) {
	f := &b.Frames[i]
	if b.Interfaces[f.Interface].LinkType != capture.LinkEthernet || f.CapLen < plainStart {
		return NoPath, 0
	}
	frame := b.Data(i)
	typ := binary.BigEndian.Uint16(frame[plainStart-2:])
	end := len(frame) - b.FCSLen(i)
	if typ != typeHSR && !isVLAN(typ) && (end < plainStart || binary.BigEndian.Uint16(frame[end-2:]) != trailerSuffix) {
		return NoPath, 0
	}
	return readPath(frame, end, f.CapLen >= f.WireLen)
}

// readPath reads the path of an Ethernet frame that ends before its check sequence at end,
// if it was captured whole.
func readPath(frame []byte, end int, whole bool) (p Path, sequence uint16) {
	const tag = 4
	at := plainStart
	typ := binary.BigEndian.Uint16(frame[at-2:])
	for ; isVLAN(typ); typ = binary.BigEndian.Uint16(frame[at-2:]) {
		if at += tag; at > len(frame) {
			return NoPath, 0
		}
	}
	if typ == typeHSR {
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

// isTrailing reports whether what typ announces at the given offset ends before the
// trailer. Its own last bytes may look like one.
func isTrailing(frame []byte, at int, typ uint16) bool {
	var h Header
	end := len(frame) - trailerLen
	if typ <= maxLength {
		return at+int(typ) <= end
	}
	known := typ == typeIPv4 && h.ip4(frame, at) || typ == typeIPv6 && h.ip6(frame, at)
	return !known || int(h.End) <= end
}

const (
	// trailerLen and trailerSuffix are those of PRP's trailer.
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
