// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Removal is a copy as MarkerConfig.Removed gets it. The numbers of packets are those of comments.
type Removal struct {
	Packet uint64
	Time   int64 // nanoseconds since 1970, or capture.NoTime
	// Original is 0 for a packet that is no longer remembered, or that another site has sent. Then
	// nothing below but Point is set.
	Original uint64
	Delay    int64 // of the copy after the original, in nanoseconds, if Delayed
	Delayed  bool
	// Point is where the copy was seen: its interface, and the VLANs, the outermost first.
	Point, OriginalPoint []byte
	// Differences are those in a comment, with commas between.
	Differences []byte
}

// remove reports a copy, if copies are reported. kept is its original, or nil.
func (m *Marker) remove(kept, copied *packet) {
	if m.removed == nil {
		return
	}
	r := &m.removal
	*r = Removal{Packet: copied.number, Time: copied.time, Point: m.appendPlace(r.Point[:0], copied), OriginalPoint: r.OriginalPoint[:0], Differences: r.Differences[:0]}
	if kept != nil {
		r.Original = kept.number
		if r.Delayed = kept.time != capture.NoTime && copied.time != capture.NoTime; r.Delayed {
			r.Delay = copied.time - kept.time
		}
		r.OriginalPoint = m.appendPlace(r.OriginalPoint, kept)
		r.Differences = m.appendDifferences(r.Differences, kept, copied)[len(", "):]
	}
	m.removed(r)
}

// appendPlace appends the interface of a packet, and its VLANs.
func (m *Marker) appendPlace(text []byte, p *packet) []byte {
	it := &m.interfaces[p.iface]
	if it.Name != "" {
		text = appendName(text, it.Name)
	} else {
		text = m.appendInput(text, m.sections[it.Section].Input)
	}
	if s := p.stack(headers.LayerVLAN); s.n > 0 {
		text = appendStack(append(text, " VLAN "...), s)
	}
	return text
}
