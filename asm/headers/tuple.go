// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"slices"
)

// TupleList lists IP datagrams of one version. Element i of each slice belongs to one
// datagram.
type TupleList struct {
	Frame []uint32 // number of its frame
	At    []uint32 // offset of its IP header in the buffer
	// Tail has, from the highest bits on: source port (16 bits) and destination port
	// (16), 0 for protocols without ports, protocol (8), 1 if there is a VLAN tag
	// (8), and the identifier of the outermost one (16).
	Tail []uint64
}

// tupleSlack is the number of elements of room that kernels need after the last one.
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
// [FindDatagrams] takes, without fragments. It is immutable. The kernel knows its layout.
// It has no plain twin: where there is no kernel, capture/headers decodes the headers of
// each frame.
type Tuples struct {
	slowPath [8]uint64
	types    types
	ports    [4]uint64 // a bit for each protocol
}

// NewTuples returns a rule. slowPath says which protocols of IPv4 and of IPv6 take the
// slow path, and ports which protocols begin with two ports.
func NewTuples(slowPath *[2][256]bool, ports *[256]bool) *Tuples {
	begins := protocolBits(&[2][256]bool{*ports})
	return &Tuples{slowPath: protocolBits(slowPath), types: ethertypes, ports: [4]uint64(begins[:4])}
}

// Untyped returns the rule for messages as in Datagrams.Untyped.
func (t *Tuples) Untyped() *Tuples {
	untyped := *t
	untyped.types = versions
	return &untyped
}

// List appends the datagrams in messages, which are Ethernet frames in buf, to the list
// of their version. Message i is frame first + i. It takes eight messages at a time, from
// the first one on. It stops at the first eight with a message that is incomplete, takes
// the slow path, or begins less than 58 bytes, plus its tags, before the end of buf. It
// returns how many messages it took, and whether there is a kernel. List panics if a list
// has no room for all messages.
func (t *Tuples) List(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int, can bool) {
	for _, l := range []*TupleList{four, six} {
		if min(cap(l.Frame), cap(l.At), cap(l.Tail))-len(l.Frame) < len(msgs)+tupleSlack {
			panic("headers: Tuples.List: no room in a list")
		}
	}
	return t.listVectors(four, six, msgs, first, buf)
}
