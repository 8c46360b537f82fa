package flow

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// CapturePoints numbers the places where frames were seen, from 0 on in the order of
// their first frames: a capture's interfaces, and within a Linux "any" capture
// with headers of version 2 the interfaces that these name, since there the
// capture has only one of its own. Version 1 headers name none.
type CapturePoints struct {
	list    []CapturePoint // by number
	numbers map[CapturePoint]uint32
	last    CapturePoint // with its number, since frames of one place come in runs
	number  uint32
	shared  uint64 // frames whose place has no number of its own
}

// CapturePoint is a place as a capture describes it. The zero Point has number 0.
type CapturePoint struct {
	Interface uint32 // capture.Interface.Point
	Index     uint32 // of the interface on the capturing host, 0 if it is not named
}

// sll2Index is where a LINKTYPE_LINUX_SLL2 header has the interface index.
const sll2Index = 4

// NewCapturePoints returns a numbering in which the places of list, which may be that of
// another one, have their numbers, and that gives none of these again: a zero Point
// stands for a place that is no more. Of equal ones the last counts.
func NewCapturePoints(list []CapturePoint) *CapturePoints {
	p := &CapturePoints{list: []CapturePoint{{}}, numbers: map[CapturePoint]uint32{{}: 0}}
	for i := 1; i < min(len(list), MaxCapturePoints); i++ {
		p.list = append(p.list, list[i])
		if list[i] != (CapturePoint{}) {
			p.numbers[list[i]] = uint32(i)
		}
	}
	return p
}

// List returns the places that have numbers, in their order. It stays as it is.
func (p *CapturePoints) List() []CapturePoint { return p.list[:len(p.list):len(p.list)] }

// Number writes the numbers of the places of frames from to from+len(dst)-1 of
// b to dst. It panics if b has fewer frames than that.
func (p *CapturePoints) Number(dst []uint32, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(dst)]
	known := uint32(math.MaxUint32) // an interface whose frames all have number
	number := uint32(0)
	for i := range frames {
		if frames[i].Interface != known {
			known = math.MaxUint32
			at, all := capturePointOf(b, from+i)
			if at != p.last {
				p.last, p.number = at, p.find(at)
			}
			if number = p.number; all {
				known = frames[i].Interface
			}
		}
		dst[i] = number
		p.shared += uint64(number / MaxCapturePoints)
	}
}

// Shared returns how many frames had places without a number of their own: behind
// MaxCapturePoints all share one.
func (p *CapturePoints) Shared() uint64 { return p.shared }

// capturePointOf returns where frame i was seen, and whether all frames of its interface
// were seen there.
func capturePointOf(b *capture.Batch, i int) (at CapturePoint, all bool) {
	iface := &b.Interfaces[b.Frames[i].Interface]
	at.Interface = iface.CapturePoint
	if iface.LinkType != capture.LinkLinuxSLL2 {
		return at, true
	}
	if data := b.Data(i); len(data) >= sll2Index+4 {
		at.Index = binary.BigEndian.Uint32(data[sll2Index:])
	}
	return at, false
}

// MaxCapturePoints bounds the memory of the numbering: more places than any capture
// has, but not more than a fuzzed one may name. Later ones share the number MaxCapturePoints.
const MaxCapturePoints = 1 << 16

func (p *CapturePoints) find(at CapturePoint) uint32 {
	n, ok := p.numbers[at]
	if !ok {
		n = uint32(len(p.list))
		if n < MaxCapturePoints {
			p.list = append(p.list, at)
			p.numbers[at] = n
		}
	}
	return n
}
