package dedup

import (
	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// Packets are those of one batch on their way to verdicts, as dedup.Packets are, and
// are counted on the way.
type Packets struct {
	judging *Judging
	packets *dedup.Packets
	tally   tally
}

// Reset makes room for a batch of n packets.
func (p *Packets) Reset(n int) {
	p.packets.Reset(n)
	p.tally = newTally()
}

// Read decodes and digests the packets from to to-1 of b, and returns the digests. All
// packets are to be read, in their order.
func (p *Packets) Read(b *capture.Batch, from, to int) []asm.Digest {
	digests := p.packets.Read(b, from, to)
	p.tally.packets(b.Frames[from:to], p.packets.Protocols()[from:to])
	return digests
}

// Times returns the times of the packets, as far as they may be relied on: of those that were read.
func (p *Packets) Times() []int64 { return p.packets.Times() }

// Judge judges the packets, and returns a bitmap of those that are copies, which is
// valid until the next Reset. Batches are judged one after another, in the order of
// their stream.
func (p *Packets) Judge(b *capture.Batch) (drop []uint64) {
	j := p.judging
	drop = p.packets.Judge(b)
	j.books.batch(&p.tally, b.Frames, p.packets.Protocols(), drop)
	if j.cfg.Identity.Kind == flow.L3 {
		j.tunnels.packets(b)
	}
	return drop
}
