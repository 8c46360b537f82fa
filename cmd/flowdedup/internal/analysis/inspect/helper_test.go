// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// packet is a packet of a test, and how it was seen.
type packet struct {
	time    int64
	id      uint16 // of IPv4; 0 for packets that are not numbered
	flow    uint32
	port    uint16 // of the host, less 1000
	answer  bool
	device  uint32
	vlan    uint16
	ttl     uint8
	tos     uint8
	mac     byte
	offload bool   // the checksum was left to a network card
	filled  bool   // the checksum is right
	damage  uint16 // changes the checksum
	padding int
	snap    int // captured bytes, 0 for all
	vni     uint32
	arp     bool
	payload uint32
	noTime  bool
	tcp     bool
	to      uint32 // destination, 0 for the usual destination
	df      bool
	mss     uint16 // of a segment with SYN; 0 is none

	service  uint16 // VLAN of an 802.1ad tag around the other tag
	lan      byte   // 0xa or 0xb of PRP; 0 is none
	ring     byte   // 1 more than the path of HSR; 0 is none
	sequence uint16 // of PRP and HSR
	group    bool   // goes to several stations
}

// ip returns the datagram.
func (p *packet) ip() []byte {
	be := binary.BigEndian
	b := []byte{0x45, p.tos, 0, 0}
	b = be.AppendUint16(b, p.id)
	b = append(b, 0, 0, 64-p.ttl, 17, 0, 0)
	if p.df {
		b[6] = 0x40
	}
	ends := [2]uint32{0x0a000000 | p.flow, cmp.Or(p.to, 0xac100001)}
	ports := [2]uint16{1000 + p.port, 53}
	if p.answer {
		ends[0], ends[1], ports[0], ports[1] = ends[1], ends[0], ports[1], ports[0]
	}
	b = be.AppendUint32(be.AppendUint32(b, ends[0]), ends[1])
	const payload = 80
	var l4 []byte
	if p.tcp {
		b[9] = 6
		l4 = be.AppendUint16(be.AppendUint16(nil, ports[0]), ports[1])
		l4 = be.AppendUint32(be.AppendUint32(l4, p.payload), 0)
		l4 = append(l4, 0x50, 0x10, 1, 0, 0x12, 0x34, 0, 0)
		if p.mss != 0 {
			l4[12], l4[13] = 0x60, 2
			be.PutUint16(l4[16:], 0x9999-p.mss)
			l4 = be.AppendUint16(append(l4, 2, 4), p.mss)
		}
	} else {
		l4 = be.AppendUint16(be.AppendUint16(nil, ports[0]), ports[1])
		l4 = be.AppendUint16(be.AppendUint16(l4, 8+payload), uint16(0x1234+p.payload)^p.damage)
		l4 = be.AppendUint32(l4, p.payload)
		l4 = append(l4, make([]byte, payload-4)...)
	}
	if p.offload && !p.tcp {
		sum := uint32(17 + len(l4))
		for o := 12; o < 20; o += 2 {
			sum += uint32(be.Uint16(b[o:]))
		}
		be.PutUint16(l4[6:], uint16(sum>>16+sum&0xffff))
	}
	if p.filled && !p.offload && !p.tcp {
		be.PutUint16(l4[6:], 0)
		sum := uint32(17 + len(l4))
		for _, words := range [][]byte{b[12:20], l4} {
			for ; len(words) > 0; words = words[2:] {
				sum += uint32(be.Uint16(words))
			}
		}
		be.PutUint16(l4[6:], ^uint16(sum>>16+sum&0xffff))
	}
	be.PutUint16(b[2:], uint16(20+len(l4)))
	return append(b, l4...)
}

// bytes returns the frame.
func (p *packet) bytes() []byte {
	be := binary.BigEndian
	b := append(make([]byte, 0, 256), 2, 0, 0, 0, 0, p.mac, 2, 0, 0, 0, 1, p.mac)
	if p.group {
		b[0] = 1
	}
	if p.service != 0 {
		b = be.AppendUint16(be.AppendUint16(b, 0x88a8), p.service)
	}
	if p.vlan != 0 {
		b = be.AppendUint16(be.AppendUint16(b, 0x8100), p.vlan)
	}
	if p.ring != 0 {
		b = be.AppendUint16(append(b, 0x89, 0x2f, (p.ring-1)<<4, 100), p.sequence)
	}
	payload := len(b) + 2
	switch {
	case p.arp:
		b = append(append(b, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1), byte(p.payload))
		return p.trailed(append(b, make([]byte, 40)...), payload)
	case p.vni != 0:
		plain := *p
		plain.vni, plain.vlan = 0, 0
		inner := plain.bytes()
		b = append(b, 8, 0, 0x45, 0)
		b = be.AppendUint16(b, uint16(20+8+8+len(inner)))
		b = append(b, byte(p.time>>8), byte(p.time), 0, 0, 64, 17, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2)
		b = be.AppendUint16(be.AppendUint16(b, 5555), 4789)
		b = append(be.AppendUint16(b, uint16(8+8+len(inner))), 0, 0, 8, 0, 0, 0)
		return append(be.AppendUint32(b, p.vni<<8), inner...)
	}
	b = append(append(b, 8, 0), p.ip()...)
	for i := range p.padding {
		b = append(b, byte(i+1))
	}
	return p.trailed(b, payload)
}

// trailed returns a frame with PRP's trailer, if it came on a LAN. payload is where its
// payload begins.
func (p *packet) trailed(b []byte, payload int) []byte {
	if p.lan == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint16(b, p.sequence)
	b = binary.BigEndian.AppendUint16(b, uint16(p.lan)<<12|uint16(len(b)-payload+4))
	return append(b, 0x88, 0xfb)
}

const devices = 3

// batchOf returns a batch of packets.
func batchOf(packets []packet) *capture.Batch {
	b := new(capture.Batch)
	for i := range devices {
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: string(rune('a' + i))})
	}
	for i := range packets {
		p := &packets[i]
		data := p.bytes()
		f := capture.Frame{Interface: p.device, Time: 1_700_000_000_000_000_000 + p.time, WireLen: uint32(len(data))}
		if p.noTime {
			f.Time = capture.NoTime
		}
		if p.snap != 0 {
			data = data[:min(p.snap, len(data))]
		}
		b.Append(f, data)
	}
	return b
}

// inspected measures packets, in batches of up to most of them.
func inspected(packets []packet, most int) *Report {
	n := New(Config{Translations: true})
	defer n.Close()
	r := rand.New(rand.NewPCG(1, uint64(most)))
	// Two batches are in flight at a time.
	two := [2]*Batch{n.NewBatch(), n.NewBatch()}
	var waiting *capture.Batch
	for i := 0; len(packets) > 0; i++ {
		m := min(1+r.IntN(most), len(packets))
		b := batchOf(packets[:m])
		packets = packets[m:]
		two[i%2].Prepare(b)
		if waiting != nil {
			n.Add(two[(i+1)%2], waiting)
		}
		if waiting = b; len(packets) == 0 {
			n.Add(two[i%2], b)
		}
	}
	return n.Report()
}

// TestPool fills several chunks: new entries are zeros, and all stay where they are.
func TestPool(t *testing.T) {
	const n = 10 << firstChunk
	var p pool
	var all []*entry
	for i := range n {
		number := p.add()
		e := p.at(number)
		if number != uint32(i) || *e != (entry{}) {
			t.Fatalf("entry %d has number %d, and %+v", i, number, *e)
		}
		e.hash = uint32(i)
		all = append(all, e)
	}
	for i, e := range all {
		if p.at(uint32(i)) != e || e.hash != uint32(i) {
			t.Fatalf("entry %d moved, or is %d", i, e.hash)
		}
	}
	if most := len(p.chunks); most != 4 || p.bytes() < n*64 {
		t.Errorf("%d chunks, %d bytes", most, p.bytes())
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
