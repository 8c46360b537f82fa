// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Place says where the Ethernet frames of an interface were seen. The kernel in assembly
// knows where its fields are.
type Place struct {
	Interface uint64 // its number
	// Skip is the distance from the beginning of a frame to its message, if there are no
	// tags.
	Skip uint64
	Hash uint64 // the point of a frame without tags
	// The point of a VLAN is a product of Key, folded, and of Hash to which Kind and the
	// identifier of the VLAN are XORed.
	Kind, Key uint64
}

const (
	tagAt   = 12     // where a tag is in an Ethernet frame
	tagType = 0x8100 // IEEE 802.1Q
)

// Points writes the point of each of at most 64 frames that belongs to the interface, and
// has no tag before IP, or a VLAN's tag. msgs are the messages of IP that lie in buf. It
// returns a bit for each other frame, whose point is undefined.
func (p *Place) Points(points []uint64, frames []Frame, msgs []digest.Message, buf []byte) (others uint64) {
	n := len(frames)
	if n == 0 {
		return 0
	}
	if len(buf) < tagAt+4 {
		return ^uint64(0) >> (64 - n)
	}
	points, msgs = points[:n], msgs[:n]
	done, others := p.pointVectors(points, frames, msgs, buf)
	if done < n {
		others |= p.pointsGeneric(points[done:], frames[done:], msgs[done:], buf) << done
	}
	return others
}

// pointsGeneric does it frame by frame. A CPU cannot predict which frames have a tag, so no
// branch depends on it.
func (p *Place) pointsGeneric(points []uint64, frames []Frame, msgs []digest.Message, buf []byte) (others uint64) {
	points, msgs, buf = points[:len(frames)], msgs[:len(frames)], buf[:len(buf):len(buf)]
	last := uint64(len(buf) - 4)
	for i := range frames {
		f, m := &frames[i], &msgs[i]
		tag := binary.BigEndian.Uint32(buf[min(uint64(f.Data)+tagAt, last):])
		tags := m.Off - uint32(p.Skip) - f.Data // 0 or 4 bytes
		version := uint32(m.Tweak >> 60)        // 4 or 6
		isTag := -(tags >> 2)                   // all bits or none, then
		differ := uint64(f.Interface ^ uint32(p.Interface) | (version&^2 ^ 4) | tags&^4 | (tag>>16^tagType)&isTag)
		others |= (differ | -differ) >> 63 << i
		points[i] = p.point(uint64(tag & isTag & 0xfff))
	}
	return others
}

// point returns the point of the frames of a VLAN; 0 is none.
func (p *Place) point(id uint64) uint64 {
	none := uint64(int64(id-1) >> 63)
	high, low := bits.Mul64(p.Hash^p.Kind^id, p.Key)
	return high ^ low ^ (high^low^p.Hash)&none
}
