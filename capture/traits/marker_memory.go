// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// remembered is how many packets a Marker remembers: 32 MiB of them.
const remembered = 200_000

// memory remembers the packets that were kept last. The newest segment takes packets, and the oldest
// segment makes room for a new one, so the tables that most packets need fit L1.
type memory struct {
	segments []segment
	newest   *segment
	most     uint64 // packets that are remembered
	entered  uint64 // packets so far
}

// segmentSize is the number of packets of a segment, and of its chains.
const segmentSize = 4096

// segment holds packets that were kept in a row. Packets whose digests agree in some bits are a chain,
// from the newest to the oldest.
type segment struct {
	chains [segmentSize]uint16 // the newest row of each, plus 1
	rows   [segmentSize]row
}

// row is a packet that was kept. packet.before is the row before it in its chain, plus 1.
type row struct {
	digest digest.Digest
	packet packet
}

func newMemory(packets int) memory {
	m := memory{segments: make([]segment, (packets-1)/segmentSize+2), most: uint64(packets)}
	layout.AdviseHuge(unsafe.Slice((*uint64)(unsafe.Pointer(&m.segments[0])), len(m.segments)*int(unsafe.Sizeof(segment{})/8)))
	return m
}

// at returns the segment of the packet with this number, from 0 on.
func (m *memory) at(n uint64) *segment { return &m.segments[n/segmentSize%uint64(len(m.segments))] }

// enter makes room for a packet that was kept, for the caller to describe.
func (m *memory) enter(d *digest.Digest) *packet {
	n := m.entered % segmentSize
	if n == 0 {
		m.newest = m.at(m.entered)
		clear(m.newest.chains[:])
	}
	first, r := &m.newest.chains[d[0]%segmentSize], &m.newest.rows[n]
	r.digest, r.packet.before = *d, *first
	m.entered++
	*first = uint16(n + 1)
	return &r.packet
}

// nearby is how many packets with the digest of a copy are searched for one within the window. There
// are several where clocks differ by more than the window.
const nearby = 16

// find returns the packet with this digest that was entered last, or nil. With a window it returns
// the last packet within the window of a time, if any of the last few is, and else the last packet
// that has a time.
func (m *memory) find(d digest.Digest, at int64, within time.Duration) *packet {
	var last *packet
	oldest, equal := m.entered-min(m.entered, m.most), 0
	for end := m.entered; end > oldest; end = (end - 1) / segmentSize * segmentSize {
		s, first := m.at(end-1), (end-1)/segmentSize*segmentSize
		for n := s.chains[d[0]%segmentSize]; n > 0 && first+uint64(n) > oldest; {
			r := &s.rows[n-1]
			p := &r.packet
			n = p.before
			if r.digest != d || within > 0 && p.time == capture.NoTime {
				continue
			}
			if within == 0 || calendar.Distance(p.time, at) <= uint64(within) {
				return p
			}
			if last == nil {
				last = p
			}
			if equal++; equal == nearby {
				return last
			}
		}
	}
	return last
}
