package headers

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"slices"
)

// TupleList lists IP datagrams of one version. Element i of each slice is about the
// same datagram.
type TupleList struct {
	Frame []uint32 // number of its frame
	At    []uint32 // offset of its IP header in the buffer
	// Tail has, from the highest bits on, source port, destination port (16 bits
	// each), protocol (8), 16 bits that are 1 if there is a VLAN tag (8 of them 0),
	// and the identifier of the outermost one.
	Tail []uint64
}

// tupleSlack is how much room kernels need behind the last element.
const tupleSlack = 8

// Reset empties the list and makes room for n datagrams.
func (l *TupleList) Reset(n int) {
	n += tupleSlack
	l.Frame = slices.Grow(l.Frame[:0], n)
	l.At = slices.Grow(l.At[:0], n)
	l.Tail = slices.Grow(l.Tail[:0], n)
}

// Resize gives the list n elements, for which it must have room. New ones are whatever
// they are.
func (l *TupleList) Resize(n int) {
	l.Frame, l.At, l.Tail = l.Frame[:n], l.At[:n], l.Tail[:n]
}

// Tuples lists the datagrams in Ethernet frames with nothing rare about them: such as
// [Datagrams] places, and no fragments. It is immutable. The kernel knows its layout;
// without one, who wants the lists makes them from headers that it decodes one by one.
type Tuples struct {
	slowPath [8]uint64
	ports    [4]uint64 // a bit for each protocol
}

// NewTuples returns the rule by which datagrams with some protocols, by version, are
// rare, and others begin with two ports.
func NewTuples(rare *[2][256]bool, ports *[256]bool) *Tuples {
	begins := protocolBits(&[2][256]bool{*ports})
	return &Tuples{slowPath: protocolBits(rare), ports: [4]uint64(begins[:4])}
}

// List appends the datagrams in messages, which are Ethernet frames in buf, to the list
// of their version, from the first message on: eight at a time, up to the first eight
// that are not complete, have something rare about them, or end less than 58 bytes, or
// their tags, before buf does. It returns how many messages these are, and whether the
// CPU can do this at all. Message i is of frame first + i. List panics if a list was not
// given room for all messages.
func (t *Tuples) List(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int, can bool) {
	for _, l := range []*TupleList{four, six} {
		if min(cap(l.Frame), cap(l.At), cap(l.Tail))-len(l.Frame) < len(msgs)+tupleSlack {
			panic("headers: Tuples.List: no room in a list")
		}
	}
	return t.listVectors(four, six, msgs, first, buf)
}
