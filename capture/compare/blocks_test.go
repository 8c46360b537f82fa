// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
)

// weighed is the part of a Source that notes the most bytes that were out at a time.
type weighed struct {
	prepare   *Preparer
	packets   []packet
	out, most int
}

// take returns the prepared batch.
func (s *weighed) take(b *capture.Batch) *Batch {
	to := new(Batch)
	s.prepare.Prepare(b)
	s.prepare.Take(to, b)
	s.out += cap(to.packets.Buf)
	s.most = max(s.most, s.out)
	return to
}

func (s *weighed) Release(b *Batch) { s.out -= cap(b.packets.Buf) }

// fatStream is a Source of packets, each behind a large block that holds none, and of more such
// blocks behind the last packet.
type fatStream struct {
	weighed
	block []byte
	tail  int // blocks behind the last packet
}

func (s *fatStream) Next() *Batch {
	if len(s.packets)+s.tail == 0 {
		return nil
	}
	b := new(capture.Batch)
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockCustom, Offset: uint32(len(b.Buf)), Len: uint32(len(s.block))})
	b.Buf = append(b.Buf, s.block...)
	if len(s.packets) > 0 {
		p := &s.packets[0]
		b.Append(capture.Frame{Time: start + p.time}, p.bytes())
		s.packets = s.packets[1:]
	} else {
		s.tail--
	}
	return s.take(b)
}

// TestBlocks bounds what blocks between packets take, whether they are written or not.
func TestBlocks(t *testing.T) {
	const memory = 8 << 20
	for _, writes := range []bool{false, true} {
		const n, tail = 400, 100
		packets := steady(rand.New(rand.NewPCG(31, 32)), n, us)
		c := newComparer(Config{Memory: memory, Blocks: writes})
		var sides [2]*fatStream
		for i := range sides {
			sides[i] = &fatStream{weighed: weighed{prepare: c.NewPreparer(i), packets: packets}, block: make([]byte, 200_000), tail: tail}
		}
		if _, err := c.Search(sides[0], sides[1]); err != nil {
			t.Fatal(err)
		}
		var written func(int, *capture.Batch, []uint64) error
		var blocks [2]int
		if writes {
			written = func(side int, b *capture.Batch, _ []uint64) error {
				blocks[side] += backlog.BlockBytes(b)
				return nil
			}
		}
		if err := c.Run(written); err != nil {
			t.Fatal(err)
		}
		r := c.Report(0)
		if most := max(sides[0].most, sides[1].most); most > memory || r.Both+r.OnlyA != 400 || r.Both+r.OnlyB != 400 {
			t.Errorf("writes %v: %d bytes of a side were out, %+v", writes, most, r.Counts)
		}
		if want := (n + tail) * 200_000; writes && (blocks[0] < want || blocks[1] < want || c.held != 0) {
			t.Errorf("%d bytes of blocks were written, want %d; %d are still held", blocks, want, c.held)
		}
		if !writes && r.Both != 400 {
			t.Errorf("%d packets are in both", r.Both)
		}
	}
}

// sparse is a Source of batches in which a filter left at most one packet.
type sparse struct {
	weighed
	batches int
}

func (s *sparse) Next() *Batch {
	if s.batches--; s.batches < 0 {
		return nil
	}
	b := new(capture.Batch)
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.Blocks, b.Buf = b.Blocks[:0], append(b.Buf, make([]byte, 100_000)...)
	if len(s.packets) > 0 && s.batches%4 == 0 {
		b.Append(capture.Frame{Time: start + s.packets[0].time}, s.packets[0].bytes())
		s.packets = s.packets[1:]
	}
	return s.take(b)
}

// TestFiltered bounds what packets take that a filter left out: batches without packets, and
// those with few.
func TestFiltered(t *testing.T) {
	const memory, n, batches = 8 << 20, 300, 2000
	for _, writes := range []bool{false, true} {
		packets := steady(rand.New(rand.NewPCG(33, 34)), n, us)
		c := newComparer(Config{Memory: memory, Blocks: writes})
		var sides [2]*sparse
		for i := range sides {
			sides[i] = &sparse{weighed: weighed{prepare: c.NewPreparer(i), packets: packets}, batches: batches}
		}
		if _, err := c.Search(sides[0], sides[1]); err != nil {
			t.Fatal(err)
		}
		written := 0
		var write func(int, *capture.Batch, []uint64) error
		if writes {
			write = func(_ int, b *capture.Batch, _ []uint64) error {
				written += len(b.Frames)
				return nil
			}
		}
		if err := c.Run(write); err != nil {
			t.Fatal(err)
		}
		if most := max(sides[0].most, sides[1].most); most > memory/8 {
			t.Errorf("writes %v: %d bytes of a side were out", writes, most)
		}
		if r := c.Report(0); r.Both != n || writes && written != 2*n {
			t.Errorf("writes %v: %d packets are in both, %d were written, want %d", writes, r.Both, written, n)
		}
	}
}
