// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// PathCount counts the frames of a path of a redundant network (IEC 62439-3), which has two. Frames
// that come several times on a path count once.
type PathCount struct {
	Path   string `json:"path"` // "LAN A", "LAN B", "HSR A", "HSR B"
	Frames uint64 `json:"frames"`
	// Missed counts the frames of the other path that did not come on this path.
	Missed uint64 `json:"missed"`
}

// pathNames are the names of classes of paths. Frames of a ring, whatever its
// network, are in a class for each port that they were sent at.
var pathNames = [pathClasses]string{"LAN A", "LAN B", "HSR A", "HSR B"}

const pathClasses = 4

// paths count frames by class.
type paths struct {
	frames [pathClasses]uint64
	both   [pathClasses / 2]uint64
}

// pathShift is where sighting.device has the path.
const pathShift = 24

func (s *sighting) path() headers.Path { return headers.Path(s.device >> pathShift) }

// renumbered reports whether one sender gave two equal packets different numbers, so that
// they are no copies.
func (s *sighting) renumbered(o *sighting) bool {
	return s.path() != headers.NoPath && o.path() != headers.NoPath && s.sequence != o.sequence
}

// add counts a packet, unless it came on its path before. In a ring, a frame to one station
// passes each link in one direction, so only multicast frames count there.
func (p *paths) add(e *entry, s *sighting) {
	path := s.path()
	if path == headers.NoPath || path.Ring() && s.flags&multicast == 0 {
		return
	}
	class := 2*count(path.Ring()) + count(path.IsSecond())
	seen, other := uint8(1)<<class, uint8(1)<<(class^1)
	if e.paths&seen != 0 {
		return
	}
	p.frames[class] += s.weight()
	if e.paths&other != 0 {
		p.both[class/2] += s.weight()
	}
	e.paths |= seen
}

// report lists the pairs of paths that have any frames.
func (p *paths) report() []PathCount {
	all := []PathCount{}
	for class, name := range pathNames {
		if frames, others := p.frames[class], p.frames[class^1]; frames+others > 0 {
			all = append(all, PathCount{Path: name, Frames: frames, Missed: others - min(p.both[class/2], others)})
		}
	}
	return all
}

// or returns a word for the kind of points, and LANs if there are any.
func (p *paths) or(word string) string {
	if p.frames != [pathClasses]uint64{} {
		return word + " or LAN"
	}
	return word
}

// readPath notes the number of frame i of b on its path. It returns where the trailers of
// Ethernet and PRP behind the packet begin. The packet ends at end.
func (s *sighting) readPath(b *capture.Batch, i, end int, path headers.Path) (behind int) {
	data := b.Data(i)
	behind = len(data)
	if path == headers.NoPath {
		return behind
	}
	_, s.sequence = headers.PathOf(b, i)
	s.flags |= numbered
	if data[0]&1 != 0 {
		s.flags |= multicast
	}
	if !path.Ring() {
		const trailer = 6
		behind = max(behind-headers.FCSLen(b, i)-trailer, end)
	}
	return behind
}

const ethernetLen = 14

// isStacked reports whether the first VLAN tag of a frame is of 802.1ad, which some analyzers do not
// open.
func isStacked(data []byte, h *headers.Header) bool {
	const type8021ad = 0x88a8
	return h.Flags&headers.FlagVLAN != 0 && h.Tag >= ethernetLen && int(h.Tag) <= len(data) &&
		binary.BigEndian.Uint16(data[h.Tag-2:]) == type8021ad
}

// deviceOf returns the number of the interface of a capture point, and in the highest byte
// its path.
func (n *Inspector) deviceOf(number uint32) uint32 {
	for list := n.devices.List(); len(n.wires) < len(list); {
		at := list[len(n.wires)]
		path := at.Path
		at.Path = headers.NoPath
		if _, ok := n.interfaces[at]; !ok {
			n.interfaces[at] = uint32(len(n.interfaces))
		}
		n.wires = append(n.wires, n.interfaces[at]|uint32(path)<<pathShift)
	}
	if int(number) >= len(n.wires) {
		return number
	}
	return n.wires[number]
}
