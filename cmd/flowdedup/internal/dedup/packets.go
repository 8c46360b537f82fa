package dedup

import (
	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// Packets are those of one batch on their way to verdicts: Reset and Read take what
// the batches before have no part in, Judge the rest. It keeps its memory from batch
// to batch, and serves one goroutine at a time.
type Packets struct {
	judging  *Judging
	identity *flow.Identity
	digester asm.MessageDigester

	tally     tally
	digests   []asm.Digest
	times     []int64
	protocols []flow.Protocol
	points    []uint32 // empty unless points matter
	drop      []uint64 // a bit for each packet that is a copy
}

// Reset makes room for a batch of n packets.
func (p *Packets) Reset(n int) {
	p.digests = resize(p.digests, n)
	p.times = resize(p.times, n)
	p.protocols = resize(p.protocols, n)
	p.drop = resize(p.drop, (n+63)/64)
	p.tally = newTally()
}

// Read decodes and digests the packets from to to-1 of b, and returns the digests. All
// packets are to be read, in their order.
func (p *Packets) Read(b *capture.Batch, from, to int) []asm.Digest {
	p.identity.Read(p.protocols[from:to], b, from).Sum(p.digests[from:to], p.digester)
	p.tally.packets(p.times[from:to], b.Frames[from:to], p.protocols[from:to])
	return p.digests[from:to]
}

// Times returns the times of the packets, as far as they may be relied on: of those that were read.
func (p *Packets) Times() []int64 { return p.times }

// Judge judges the packets, and returns a bitmap of those that are copies, which is
// valid until the next Reset. Batches are judged one after another, in the order of
// their stream.
func (p *Packets) Judge(b *capture.Batch) (drop []uint64) {
	j := p.judging
	if j.cfg.Across {
		p.points = resize(p.points, len(b.Frames))
		j.where.Gather(p.points, b, 0)
	}
	j.filter.TestAndSet(p.drop, p.digests, p.times, p.points)
	j.books.batch(&p.tally, b.Frames, p.protocols, p.drop)
	if j.cfg.Identity.Kind == flow.L3 {
		j.tunnels.Add(b)
	}
	return p.drop
}

// resize returns s with n elements, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
