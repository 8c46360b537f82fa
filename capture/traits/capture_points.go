// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// CapturePoints numbers the places where frames were seen (RFC 7011: observation points),
// from 0 on, in the order of their first frames. A capture point is an interface of the
// capture. A Linux "any" capture has a single interface: with version 2 headers a capture point is
// the interface that the header names; version 1 headers name none. The paths of a
// redundant network are points of their own, also where the same interface sees them all.
type CapturePoints struct {
	list    []CapturePoint // number i at index i
	numbers map[CapturePoint]uint32
	last    CapturePoint // a cache, since frames of a point come in runs
	number  uint32       // of last
	shared  uint64       // frames whose point has no number of its own
}

// CapturePoint is a place as a capture describes it. The zero value has number 0.
type CapturePoint struct {
	Interface uint32       // capture.Interface.CapturePoint
	Index     uint32       // index of the interface on the capturing host; 0 if unknown
	Path      headers.Path `json:",omitzero"`
}

// sll2Index is the offset of the interface index in a LINKTYPE_LINUX_SLL2 header.
const sll2Index = 4

// NewCapturePoints returns a numbering in which the points of list, which may come from
// another numbering, keep their numbers. It assigns none of these numbers again: a zero
// CapturePoint in list stands for a point that no longer exists. Of equal points the last
// counts.
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

// List returns the points in the order of their numbers. Later calls do not change it.
func (p *CapturePoints) List() []CapturePoint { return p.list[:len(p.list):len(p.list)] }

// Number writes the capture point numbers of the frames from to from+len(dst)-1 of b to
// dst. It panics if b has fewer frames.
func (p *CapturePoints) Number(dst []uint32, b *capture.Batch, from int) {
	frames := b.Frames[from : from+len(dst)]
	known := uint32(math.MaxUint32) // an interface whose frames are all of the point below, paths aside
	var at CapturePoint
	ethernet := false // whether these may have paths
	for i := range frames {
		f := &frames[i]
		if f.Interface != known {
			var all bool
			at, all = interfaceOf(b, from+i)
			ethernet = b.Interfaces[f.Interface].LinkType == capture.LinkEthernet
			if known = math.MaxUint32; all {
				known = f.Interface
			}
		}
		at.Path = headers.NoPath
		if ethernet && (f.CapLen < plainStart || !headers.IsPlainEthernet(b.Buf[f.Data:f.Data+f.CapLen])) {
			at.Path, _ = headers.PathOf(b, from+i)
		}
		dst[i] = p.NumberOf(at)
	}
}

// NumberOf returns the number of a frame's capture point, as Number does.
func (p *CapturePoints) NumberOf(at CapturePoint) uint32 {
	if at != p.last {
		p.last, p.number = at, p.find(at)
	}
	p.shared += uint64(p.number / MaxCapturePoints)
	return p.number
}

// Shared returns how many frames had points without a number of their own: points beyond
// MaxCapturePoints.
func (p *CapturePoints) Shared() uint64 { return p.shared }

// CapturePointOf returns where frame i of b was seen. It panics if b has no frame i.
func CapturePointOf(b *capture.Batch, i int) CapturePoint {
	at, _ := interfaceOf(b, i)
	at.Path, _ = headers.PathOf(b, i)
	return at
}

// interfaceOf returns where frame i was seen, without its path, and whether that is so for
// all frames of its interface.
func interfaceOf(b *capture.Batch, i int) (at CapturePoint, all bool) {
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

// MaxCapturePoints bounds the memory of the numbering. Only forged captures have more points. Further
// points share the number MaxCapturePoints.
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

// Cell counts the copies whose originals were seen at point First, and the copies at point Copy.
type Cell struct {
	First string `json:"first"`
	Copy  string `json:"copy"`
	Count uint64 `json:"duplicates"`
	Delay Delays `json:"delay_ns"`
}

// SortCells orders cells by count, the largest first, then by name.
func SortCells(cells []Cell) {
	slices.SortStableFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Copy, b.Copy))
	})
}

const (
	// mostCells bounds the pairs of points that a matrix counts apart.
	mostCells = 64
	// longest is the longest delay that a matrix reports.
	longest = int64(10 * time.Second)
)

// matrix counts copies by the numbers of both points, for the first pairs of them. The
// zero value is ready for use. It takes 2 MiB at most.
type matrix struct {
	cells map[[2]uint32]*Histogram
}

// add counts a copy that was seen delay nanoseconds after its original.
func (m *matrix) add(first, copied uint32, delay uint64) {
	key := [2]uint32{first, copied}
	h := m.cells[key]
	if h == nil {
		if len(m.cells) >= mostCells {
			return
		}
		if m.cells == nil {
			m.cells = map[[2]uint32]*Histogram{}
		}
		h = NewHistogram(longest)
		m.cells[key] = h
	}
	h.Add(delay, 1)
}

// list lists the counts, the largest first. The counts of points with equal names are added.
func (m *matrix) list(names *Names) []Cell {
	named := map[[2]string]*Histogram{}
	for key, h := range m.cells {
		at := [2]string{names.Name(key[0]), names.Name(key[1])}
		if named[at] == nil {
			named[at] = NewHistogram(longest)
		}
		named[at].Merge(h)
	}
	all := make([]Cell, 0, len(named))
	for at, h := range named {
		all = append(all, Cell{First: at[0], Copy: at[1], Count: h.Count(), Delay: h.Delays()})
	}
	SortCells(all)
	return all
}
