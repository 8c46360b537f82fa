// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"cmp"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// part is what decides which source a source continues, as files of a rotated capture do.
type part struct {
	name   string
	points []partPoint // in the order of their descriptions
	former []partPoint // of the source that is continued
	begun  bool        // a packet was delivered
	last   int64       // time of the last packet that was read, or capture.NoTime
}

// partPoint describes a capture point of a source.
type partPoint struct {
	format capture.Format
	link   capture.LinkType
	name   string // if_name
	number uint32 // in the result
}

// same reports whether two sources describe a point in the same way.
func (p *partPoint) same(o *partPoint) bool {
	return p.format == o.format && p.link == o.link && p.name == o.name
}

// lastTime returns the time of the last frame that has a time, else the time before.
func lastTime(frames []capture.Frame, before int64) int64 {
	for i := len(frames) - 1; i >= 0; i-- {
		if t := frames[i].Time; t != capture.NoTime {
			return t
		}
	}
	return before
}

// continues reports whether p may continue a source that has ended. More interfaces may be
// described later.
func (p *part) continues(old *part, first int64) bool {
	n := len(p.points)
	return old.last <= first && n <= len(old.points) &&
		slices.EqualFunc(p.points, old.points[:n], func(a, b partPoint) bool { return a.same(&b) })
}

// describe adds a new point of a source, and returns where its origin is to be found.
func (ms *multiSource) describe(p *part, f capture.Interface, number uint32, format capture.Format) *uint32 {
	at, i := partPoint{format, f.LinkType, f.Name, number}, len(p.points)
	p.points = append(p.points, at)
	if i < len(p.former) && at.same(&p.former[i]) {
		number = *ms.origins[p.former[i].number]
	}
	return &number
}

// begin notes that the first packet of a source comes, and finds the source that it
// continues. No packet of its interfaces was delivered before, so nobody has read an origin.
func (ms *multiSource) begin(m *renumbering, first int64) {
	m.part.begun = true
	if first == capture.NoTime {
		return
	}
	found, nearest := -1, 0
	for i, old := range ms.ended {
		if !m.part.continues(&old.part, first) {
			continue
		}
		near := commonPrefix(m.part.name, old.part.name)
		if found < 0 || cmp.Or(cmp.Compare(near, nearest), cmp.Compare(old.part.last, ms.ended[found].part.last)) >= 0 {
			found, nearest = i, near
		}
	}
	if found < 0 {
		return
	}
	m.part.former = ms.ended[found].part.points
	ms.ended = slices.Delete(ms.ended, found, found+1)
	for i, p := range m.part.points {
		*ms.origins[p.number] = *ms.origins[m.part.former[i].number]
	}
}

// finish notes that a source has ended. A source without packets is not continued.
func (ms *multiSource) finish(m *renumbering) {
	if m.part.last != capture.NoTime {
		ms.ended = append(ms.ended, m)
	}
}

// commonPrefix returns how many first bytes two names share.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
