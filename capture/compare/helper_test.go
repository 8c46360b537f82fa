// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/capture"
)

// packet is a packet of a test.
type packet struct {
	time   int64
	id     uint32 // packets of one flow with equal ids are equal
	flow   uint32
	answer bool
	six    bool
	arp    bool
	noTime bool
	snap   int // captured bytes, 0 for all
}

const start = 1_700_000_000_000_000_000

// bytes returns the frame, 64 bytes long.
func (p *packet) bytes() []byte {
	be := binary.BigEndian
	b := append(make([]byte, 0, 80), 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2)
	src, dst, ports := 0x0a000000|p.flow, uint32(0xac100001), [2]uint16{1000 + uint16(p.flow), 53}
	if p.answer {
		src, dst, ports[0], ports[1] = dst, src, ports[1], ports[0]
	}
	switch {
	case p.arp:
		b = append(b, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
		b = be.AppendUint32(b, p.id)
		return append(b, make([]byte, 64-len(b))...)
	case p.six:
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 12, 17, 64)
		b = be.AppendUint32(append(b, make([]byte, 12)...), src)
		b = be.AppendUint32(append(b, make([]byte, 12)...), dst)
	default:
		b = append(b, 8, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0)
		b = be.AppendUint32(be.AppendUint32(b, src), dst)
	}
	b = be.AppendUint16(be.AppendUint16(b, ports[0]), ports[1])
	b = be.AppendUint32(append(b, 0, 12, 0, 0), p.id)
	return append(b, make([]byte, max(64-len(b), 0))...)
}

// batchOf returns a batch of packets.
func batchOf(packets []packet) *capture.Batch {
	b := new(capture.Batch)
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i := range packets {
		p := &packets[i]
		data := p.bytes()
		f := capture.Frame{Time: start + p.time, WireLen: uint32(len(data))}
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

// stream is a Source of packets, in batches of up to most of them.
type stream struct {
	prepare *Preparer
	packets []packet
	most    int
	r       *rand.Rand
}

func (s *stream) Next() *Batch {
	if len(s.packets) == 0 {
		return nil
	}
	n := min(s.r.IntN(s.most+1), len(s.packets))
	b := batchOf(s.packets[:n])
	s.packets = s.packets[n:]
	to := new(Batch)
	s.prepare.Prepare(b)
	s.prepare.Take(to, b)
	return to
}

func (s *stream) Release(*Batch) {}

func (c *Comparer) stream(side int, packets []packet, most int) *stream {
	return &stream{prepare: c.NewPreparer(side), packets: packets, most: most, r: rand.New(rand.NewPCG(1, uint64(most)))}
}

// compared compares two sides, in batches of up to most packets. missing lists the packets
// that only one side has, by their numbers.
func compared(cfg Config, a, b []packet, most int) (r *Report, missing [2][]int) {
	c := newComparer(cfg)
	sources := [2]*stream{c.stream(sideA, a, most), c.stream(sideB, b, most)}
	if sure, err := c.Search(sources[0], sources[1]); err != nil {
		panic(err)
	} else if !sure {
		surveys := [2]*Survey{NewSurvey(0), NewSurvey(1)}
		for i, packets := range [2][]packet{a, b} {
			in := c.stream(i, packets, most)
			for p := in.Next(); p != nil; p = in.Next() {
				surveys[i].Add(p)
			}
		}
		c.Locate(surveys[0], surveys[1])
	}
	var number [2]int
	err := c.Run(func(side int, b *capture.Batch, matched []uint64) error {
		for i := range b.Frames {
			if matched[i/64]>>(i%64)&1 == 0 {
				missing[side] = append(missing[side], number[side])
			}
			number[side]++
		}
		return nil
	})
	if err != nil || number != [2]int{len(a), len(b)} {
		panic("not all packets were written")
	}
	return c.Report(100), missing
}

// newComparer makes a Comparer of a possible configuration.
func newComparer(cfg Config) *Comparer {
	made, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return made
}
