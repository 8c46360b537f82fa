package flow

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// Points numbers the places where frames were seen, from 0 on in the order of
// their first frames: a capture's interfaces, and within a Linux "any" capture
// with headers of version 2 the interfaces that these name, since there the
// capture has only one of its own. Version 1 headers name none.
type Points struct {
	numbers map[point]uint32
	last    point // with its number, since frames of one place come in runs
	number  uint32
}

// point is a place as the capture describes it.
type point struct {
	point uint32 // Interface.Point
	index uint32 // of the interface on the capturing host, 0 if it is not named
}

// sll2Index is where a LINKTYPE_LINUX_SLL2 header has the interface index.
const sll2Index = 4

// NewPoints returns an empty numbering.
func NewPoints() *Points {
	return &Points{numbers: map[point]uint32{{}: 0}}
}

// Gather writes the numbers of the places of frames from to from+len(dst)-1 of
// b to dst. It panics if b has fewer frames than that.
func (p *Points) Gather(dst []uint32, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(dst)]
	known := uint32(math.MaxUint32) // an interface whose frames all have number
	number := uint32(0)
	for i := range frames {
		if frames[i].Interface != known {
			known = math.MaxUint32
			at, all := pointOf(b, from+i)
			if at != p.last {
				p.last, p.number = at, p.find(at)
			}
			if number = p.number; all {
				known = frames[i].Interface
			}
		}
		dst[i] = number
	}
}

// pointOf returns where frame i was seen, and whether all frames of its interface
// were seen there.
func pointOf(b *capture.Batch, i int) (at point, all bool) {
	iface := &b.Interfaces[b.Frames[i].Interface]
	at.point = iface.Point
	if iface.LinkType != capture.LinkLinuxSLL2 {
		return at, true
	}
	if data := b.Data(i); len(data) >= sll2Index+4 {
		at.index = binary.BigEndian.Uint32(data[sll2Index:])
	}
	return at, false
}

// maxPoints bounds the memory of the numbering: more places than any capture
// has, but not more than a fuzzed one may name. Later ones share a number.
const maxPoints = 1 << 16

func (p *Points) find(at point) uint32 {
	n, ok := p.numbers[at]
	if !ok {
		n = uint32(min(len(p.numbers), maxPoints))
		if n < maxPoints {
			p.numbers[at] = n
		}
	}
	return n
}
