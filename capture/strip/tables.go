// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// maxInterfaces is how many tunnels get an interface of their own. Further tunnels share an interface
// for each interface that captured and each link type.
const maxInterfaces = 4096

// tables hold the interfaces of the source and of tunnels, in the order in which they came.
// They are only appended to, so earlier batches stay valid.
type tables struct {
	all     []capture.Interface
	numbers []uint32 // the new number of each interface of the source
	shifted bool     // a number of the source and its new number differ
	derived map[origin]uint32
	own     int // tunnels with an interface of their own
	last    origin
	number  uint32 // of last
}

// origin is where a packet of a tunnel came from: a number of the source, and the tunnel.
type origin struct {
	iface, id uint32
	link      capture.LinkType
	kind      headers.LayerKind // 0 if it shares the interface
}

// follow adds new entries of a batch's table.
func (t *tables) follow(b *capture.Batch) {
	for n := len(t.numbers); n < len(b.Interfaces); n++ {
		t.numbers = append(t.numbers, uint32(len(t.all)))
		t.shifted = t.shifted || n != len(t.all)
		t.all = append(t.all, b.Interfaces[n])
	}
}

// derivedMark marks a frame that renumber has no work with.
const derivedMark = 1 << 31

// carried gives a frame that a tunnel carried its interface.
func (t *tables) carried(f *capture.Frame, link capture.LinkType, tunnel headers.Layer) {
	at := origin{f.Interface, tunnel.ID, link, tunnel.Kind}
	if at != t.last || t.number == 0 {
		t.last, t.number = at, t.find(at)
	}
	f.Interface = t.number | derivedMark
	t.shifted = true
}

// find returns the number of the interface of a tunnel. It makes the interface if that is new, while
// there are not too many.
func (t *tables) find(at origin) uint32 {
	n, ok := t.derived[at]
	if ok {
		return n
	}
	if t.own >= maxInterfaces && at.kind != 0 {
		return t.find(origin{iface: at.iface, link: at.link})
	}
	n = uint32(len(t.all))
	t.derived[at] = n
	if at.kind != 0 {
		t.own++
	}
	it := t.all[t.numbers[at.iface]]
	it.LinkType, it.FCSLen, it.Derived = at.link, 0, true
	it.Name = join(it.Name, headers.TunnelName(at.kind, at.id))
	t.all = append(t.all, it)
	return n
}

// renumber gives frames the numbers of the interfaces of t.
func (t *tables) renumber(frames []capture.Frame) {
	if !t.shifted {
		return
	}
	for i := range frames {
		f := &frames[i]
		if f.Interface&derivedMark != 0 {
			f.Interface &^= derivedMark
		} else {
			f.Interface = t.numbers[f.Interface]
		}
	}
}

// maxName bounds the part of the capturing interface's name in the name of a derived interface.
const maxName = 256

func join(name, tunnel string) string {
	if name == "" {
		return tunnel
	}
	return name[:min(len(name), maxName)] + " " + tunnel
}
