// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TupleList lists IP datagrams of one version. Element i of each slice belongs to one
// datagram.
type TupleList struct {
	Frame []uint32 // number of its frame
	At    []uint32 // offset of its IP header in the buffer
	// Tail has, from the highest bits on: source port (16 bits) and destination port
	// (16), 0 for protocols without ports, protocol (8), 1 if there is a VLAN tag
	// (8), and the identifier of the outermost tag (16).
	Tail []uint64
}

// tupleSlack is the number of elements of room that kernels need after the last element.
const tupleSlack = 8

// Reset empties the list and makes room for n datagrams.
func (l *TupleList) Reset(n int) {
	n += tupleSlack
	l.Frame = slices.Grow(l.Frame[:0], n)
	l.At = slices.Grow(l.At[:0], n)
	l.Tail = slices.Grow(l.Tail[:0], n)
}

// Resize sets the number of elements to n. The list must have room for them. New elements
// have arbitrary values.
func (l *TupleList) Resize(n int) {
	l.Frame, l.At, l.Tail = l.Frame[:n], l.At[:n], l.Tail[:n]
}

// Tuples lists the datagrams in Ethernet frames on the fast path: frames that
// [FindDatagrams] takes, without fragments. It is immutable. The kernel knows its layout up to
// ports.
type Tuples struct {
	slowPath [8]uint64
	types    types
	ports    [4]uint64 // a bit for each protocol
	// masks has, for each version and protocol, the bits of its ports, and above them a bit if it
	// takes the slow path.
	masks [2 * 256]uint64
}

// tupleReach is the number of bytes that are read of a frame, without its tags.
const tupleReach = datagramStart + 40 + 4

// tupleShapes say where headers of IPv4 and IPv6 have what.
var tupleShapes = [2]struct {
	bits, value         uint64 // which bits of bytes 0 to 7 have a value
	end, least          uint32 // as in datagramShape
	size, number, ports uint8  // of length and protocol in the header, and of ports behind 20 bytes of it
}{
	{bits: 0xff<<56 | 0x3fff, value: 0x45 << 56, end: datagramStart, least: datagramStart + 24, size: 2, number: 9},
	{bits: 0xf0 << 56, value: 0x60 << 56, end: datagramStart + 40, least: datagramStart + 44, size: 4, number: 6, ports: 20},
}

// NewTuples returns a rule. slowPath says which protocols of IPv4 and of IPv6 take the
// slow path, and ports which protocols begin with two ports.
func NewTuples(slowPath *[2][256]bool, ports *[256]bool) *Tuples {
	begins := protocolBits(&[2][256]bool{*ports})
	t := &Tuples{slowPath: protocolBits(slowPath), types: ethertypes, ports: [4]uint64(begins[:4])}
	for i := range t.masks {
		if ports[i%256] {
			t.masks[i] = 0xffffffff
		}
		t.masks[i] |= t.slowPath[i/64] >> (i % 64) & 1 << 32
	}
	return t
}

// Untyped returns the rule for messages as in Datagrams.Untyped.
func (t *Tuples) Untyped() *Tuples {
	untyped := *t
	untyped.types = versions
	return &untyped
}

// List appends the datagrams in messages, which are Ethernet frames in buf, to the list
// of their version. Message i is frame first + i. It stops at the first message that is incomplete,
// takes the slow path, or begins less than 58 bytes, plus its tags, before the end of buf. It
// returns how many messages it took. List panics if a list has no room for all messages.
func (t *Tuples) List(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int) {
	for _, l := range []*TupleList{four, six} {
		if min(cap(l.Frame), cap(l.At), cap(l.Tail))-len(l.Frame) < len(msgs)+tupleSlack {
			panic("headers: Tuples.List: no room in a list")
		}
	}
	done = t.listVectors(four, six, msgs, first, buf)
	return done + t.listGeneric(four, six, msgs[done:], first+uint32(done), buf)
}

// listGeneric does messages singly. A CPU cannot predict the order of versions, so no branch
// depends on it.
func (t *Tuples) listGeneric(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int) {
	buf = buf[:len(buf):len(buf)]
	n := [2]int{len(four.Frame), len(six.Frame)}
	four.Resize(n[0] + len(msgs))
	six.Resize(n[1] + len(msgs))
	lists := [2]TupleList{*four, *six}
	for ; done < len(msgs); done++ {
		at, captured, tail := int(msgs[done].Off), msgs[done].Len, uint64(0)
		if at+tupleReach > len(buf) {
			break
		}
		b := (*[tupleReach]byte)(buf[at : at+tupleReach])
		v, ip := t.types.version((*[datagramReach]byte)(b[:]))
		if !ip {
			var tags int
			if tags, v, ip = t.behindTags(b); !ip || at+4*tags+tupleReach > len(buf) {
				break
			}
			tail = 1<<16 | uint64(binary.BigEndian.Uint16(b[datagramStart:])&0xfff)
			at, captured = at+4*tags, captured-min(captured, uint32(4*tags))
			b = (*[tupleReach]byte)(buf[at : at+tupleReach])
		}
		s := &tupleShapes[v]
		number, size, ports := uint(b[datagramStart+s.number&15]), datagramStart+s.size&7, datagramStart+20+int(s.ports&20)
		masks := t.masks[(uint(v)<<8|number)%uint(len(t.masks))]
		end := min(s.end+uint32(binary.BigEndian.Uint16(b[size:size+2])), captured)
		if binary.BigEndian.Uint64(b[datagramStart:])&s.bits^s.value|masks>>32 != 0 || end < s.least {
			break
		}
		tail |= uint64(binary.BigEndian.Uint32(b[ports:ports+4])&uint32(masks))<<32 | uint64(number)<<24
		l, i := &lists[v], n[v]
		l.Frame[i], l.At[i], l.Tail[i] = first+uint32(done), uint32(at)+datagramStart, tail
		n[v] = i + 1
	}
	four.Resize(n[0])
	six.Resize(n[1])
	return done
}

// behindTags returns how many tags lie before IP, and its version. Inlined, it would share loads of
// single bytes with its caller, which then loads no word.
//
//go:noinline
func (t *Tuples) behindTags(b *[tupleReach]byte) (tags, version int, ok bool) {
	if t.types.which != ethertypes.which {
		return 0, 0, false
	}
	tags, typ := tagsOf((*[datagramReach]byte)(b[:]))
	return tags, int(typ >> 15), typ == 0x0800 || typ == 0x86dd
}
