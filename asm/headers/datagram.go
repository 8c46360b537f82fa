// SPDX-License-Identifier: Apache-2.0

// Package headers has the kernels that know Ethernet and IP. They are the fast path of
// capture/headers, for frames without rare headers; all other frames take its slow path,
// which decodes headers singly. Functions panic if slices are too short, and return
// no errors.
//
//	question                                 function         contract      plain twin
//	where is the IP datagram in a frame      FindDatagrams   datagram.go   datagram.go, labels.go
//	addresses and ports of many datagrams    Tuples.List      tuple.go      tuple.go
//	which datagrams are in tunnels           OpenTunnels      tunnels.go    tunnels.go
//	which headers no receiver takes          FindBroken       broken.go     none: FindDatagrams has it
//	which frames are no fragments            Whole.Count      whole.go      whole.go
package headers

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Datagrams says how FindDatagrams turns messages that are Ethernet frames into messages
// that are the IP datagrams in them. It takes frames on the fast path: up to two VLAN
// tags, with a rule that is Labelled also labels, then IPv4 without options or IPv6 without extension headers, captured at least to
// 4 bytes after that header. It is immutable. The kernels in assembly know where its
// fields up to labels are.
type Datagrams struct {
	slowPath [8]uint64 // a bit for each version and protocol
	types    types
	first    [2]uint64  // mask of bytes 0 to 7, by version
	isSlow   [512]uint8 // 1 for each bit of slowPath
	labels   labels
	shapes   [2]datagramShape
}

// types says how the version of IP is found: from which bits of bytes 12 to 15 of a frame,
// little-endian, and which values these have.
type types struct {
	mask  [4]uint64 // the same four times
	ip    [2]uint64 // IPv4 and IPv6
	which uint64    // the number of a bit that is set only for IPv6
	plain [3]uint64 // bytes 12 to 14 of plain frames, IPv4 and IPv6, and which bits of the latter count
}

var (
	// ethertypes read the type, which may be a tag's.
	ethertypes = newTypes(0xffff, 0x0008, 0xdd86, 7)
	// versions read the first bits of the header behind it.
	versions = newTypes(0xf00000, 0x400000, 0x600000, 21)
)

func newTypes(mask, four, six, which uint64) types {
	const typ = 0xffff
	plain := [3]uint64{0x450000 | four&typ, 0x600000 | six&typ, 0xf00000 | mask&typ}
	return types{[4]uint64{mask, mask, mask, mask}, [2]uint64{four, six}, which, plain}
}

// version returns which version the frame b has, 0 for IPv4 and 1 for IPv6, if it has any.
func (t *types) version(b *[datagramReach]byte) (v int, ip bool) {
	word := uint64(binary.LittleEndian.Uint32(b[datagramStart-2:]))
	v = int(word >> (t.which & 63) & 1)
	return v, word&t.mask[0] == t.ip[v]
}

// datagramShape holds the common parameters of the datagrams of one version.
type datagramShape struct {
	first, protocol, second uint64 // masks that make the tweak, see FindDatagrams
	sum                     uint64 // mask of what is wrong in a checksum
	bits, value             uint64 // which bits of bytes 0 to 7 have a value
	end, least              uint32 // least end of a frame without tags: with length 0, and to be taken
	stated                  uint32 // mask: all ones if the length must equal the stated length
	size, number, hops      uint8  // where in the datagram its length, protocol number and time to live are
	down                    uint8  // distance by which bytes 8 to 13 move down
	slowPath                uint8  // index of the first word of Datagrams.slowPath
}

// Headers that a frame may have before its datagram.
const (
	datagramStart = 14                 // of the IP header in a frame without tags
	datagramReach = datagramStart + 22 // bytes that are read of a frame, without its tags
	datagramTags  = 2
	datagramSkip  = 12 // how much of a datagram comes before its message
)

// NewDatagrams returns a rule. first4 and first6 are the masks of bytes 0 to 7 of IPv4
// and IPv6 headers, as big-endian words. slowPath lists the protocols that take the slow
// path: IPv4's and IPv6's.
func NewDatagrams(first4, first6 uint64, slowPath *[2][256]bool) *Datagrams {
	d := &Datagrams{
		slowPath: protocolBits(slowPath), first: [2]uint64{first4, first6},
		types: ethertypes, labels: noLabels,
	}
	for i := range d.isSlow {
		d.isSlow[i] = uint8(d.slowPath[i/64] >> (i % 64) & 1)
	}
	d.shapes = [2]datagramShape{{
		first: first4, second: 0xff << 48, sum: math.MaxUint64,
		bits: 0xff << 56, value: 0x45 << 56,
		end: datagramStart, least: datagramStart + 24,
		size: 2, number: 9, hops: 8,
	}, {
		first: first6, protocol: 0xff00, second: 0xffffffff, down: 32,
		bits: 0xf0 << 56, value: 0x60 << 56,
		end: datagramStart + 40, least: datagramStart + 44, stated: 0xffffffff,
		size: 4, number: 6, hops: 7, slowPath: 4,
	}}
	return d
}

// Untyped returns the rule for messages that begin 14 bytes before an IP header, whatever
// these bytes are. This also serves frames with other headers than Ethernet's.
func (d *Datagrams) Untyped() *Datagrams {
	untyped := *d
	untyped.types, untyped.labels = versions, noLabels
	return &untyped
}

// protocolBits returns a bit for each version and protocol number.
func protocolBits(of *[2][256]bool) (bits [8]uint64) {
	for v := range of {
		for number, is := range of[v] {
			if is {
				bits[4*v+number/64] |= 1 << (number % 64)
			}
		}
	}
	return bits
}

// Found is a set of what some datagrams are.
type Found uint8

const (
	FoundCut    Found = 1 << iota // their stated length exceeds the captured bytes
	FoundBroken                   // no receiver takes them: see FindBroken
)

// FindDatagrams replaces messages that are Ethernet frames in buf by the datagrams in them,
// from byte 12 on, with a tweak of bytes 0 to 11 as big-endian words:
//
//	IPv4   masked bytes 0 to 7 | byte 9 << 48
//	IPv6   masked bytes 0 to 7 | byte 6 << 52 | bytes 8 to 11
//
// If the payload length of an IPv6 datagram differs from the number of captured bytes,
// the message begins with byte 8. Its tweak is the masked bytes 0 to 7, with length and
// protocol unmasked and 7 as version. The IP protocol number of message i goes to
// protocols[i].
//
// Messages for the slow path stay as they are: bit i of rest is set, and protocols[i] is
// 0. Messages that begin less than 36 bytes, plus their tags, before the end of buf also
// stay. FindDatagrams takes constant time for each message and does not allocate. It
// panics if protocols or rest are too short.
func FindDatagrams[P ~uint16](d *Datagrams, msgs []digest.Message, protocols []P, rest []uint64, buf []byte) Found {
	numbers := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(protocols[:len(msgs)]))), len(msgs))
	rest = rest[:(len(msgs)+63)/64]
	clear(rest)
	done, found := d.findVectors(msgs, numbers, rest, buf)
	return d.findGeneric(msgs, numbers, rest, buf, done) | found
}

// findGeneric does messages from number from on.
func (d *Datagrams) findGeneric(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte, from int) (found Found) {
	for i := from &^ 63; i < len(msgs); i += 64 {
		part := msgs[i:min(i+64, len(msgs))]
		todo := ^uint64(0) >> (64 - len(part))
		before := max(from-i, 0)
		left, some := d.findEach(part, numbers[i:], buf, todo>>before<<before)
		rest[i/64] |= left
		found |= some
	}
	return found
}

// findEach handles, of up to 64 messages, the messages whose bits are set in todo, and returns
// which of them take the slow path. A CPU cannot predict the order of versions, so values
// that depend on them come from tables.
func (d *Datagrams) findEach(msgs []digest.Message, numbers []uint16, buf []byte, todo uint64) (rest uint64, found Found) {
	numbers, buf = numbers[:len(msgs)], buf[:len(buf):len(buf)]
	for ; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo)
		m := &msgs[i]
		at, captured := int(m.Off), m.Len
		numbers[i] = 0
		rest |= todo & -todo
		if at+datagramReach > len(buf) {
			continue
		}
		b := (*[datagramReach]byte)(buf[at : at+datagramReach])
		version, ip := d.types.version(b)
		if !ip {
			n, v, ok := d.before(b, m, buf)
			at += n
			if !ok || at+datagramReach > len(buf) {
				continue
			}
			captured -= min(captured, uint32(n))
			b, version = (*[datagramReach]byte)(buf[at:at+datagramReach]), v
		}
		s := &d.shapes[version]
		first, number := binary.BigEndian.Uint64(b[datagramStart:]), b[(datagramStart+s.number)%datagramReach]
		size := int(datagramStart + s.size&7)
		full := s.end + uint32(binary.BigEndian.Uint16(b[size:size+2]))
		end := min(full, captured)
		if first&s.bits^s.value|d.slowPath[s.slowPath&4|number>>6]>>(number&63)&1 != 0 || end < s.least {
			continue
		}
		numbers[i] = uint16(number)
		rest &^= todo & -todo
		if full != end {
			found |= FoundCut
		}
		if s.breaks(b) {
			found |= FoundBroken
		}
		if (full^end)&s.stated != 0 {
			m.Off, m.Len = uint32(at)+datagramStart+8, end-datagramStart-8
			m.Tweak = 1<<60 | first&(s.first|0xffffff00)
			continue
		}
		m.Off, m.Len = uint32(at)+datagramStart+datagramSkip, end-datagramStart-datagramSkip
		m.Tweak = first&s.first | first&s.protocol<<44 | binary.BigEndian.Uint64(b[datagramStart+6:])<<16>>(s.down&63)&s.second
	}
	return rest, found
}

// breaks reports whether no receiver takes the datagram of a frame. A CPU cannot predict the version, so
// no branch depends on it.
func (s *datagramShape) breaks(b *[datagramReach]byte) bool {
	ip := (*[brokenReach]byte)(b[datagramStart:])
	return ip[s.hops%brokenReach] == 0 || !isMultiple(headerSum(ip)&s.sum) && ip[10]|ip[11] != 0
}

// before returns how many bytes of other headers lie between the first type of the frame m and IP,
// and the version of IP. b is the start of m.
func (d *Datagrams) before(b *[datagramReach]byte, m *digest.Message, buf []byte) (n, version int, ok bool) {
	if d.types.which != ethertypes.which {
		return 0, 0, false
	}
	tags, typ := tagsOf(b)
	switch {
	case typ == 0x0800:
		return 4 * tags, 0, true
	case typ == 0x86dd:
		return 4 * tags, 1, true
	case uint64(m.Off)+uint64(m.Len) > uint64(len(buf)):
		return 0, 0, false
	}
	at, version, ok := d.labels.behind(buf[m.Off:][:m.Len], datagramStart+4*tags, typ, uint32(m.Tweak))
	return at - datagramStart, version, ok
}

// tagsOf counts the VLAN tags of a frame, at most datagramTags, and returns the type behind them.
func tagsOf(b *[datagramReach]byte) (tags int, typ uint16) {
	typ = binary.BigEndian.Uint16(b[12:])
	for tags < datagramTags && (typ == 0x8100 || typ == 0x88a8 || typ == 0x9100) {
		tags++
		typ = binary.BigEndian.Uint16(b[12+4*tags:])
	}
	return tags, typ
}
