package dedup

import (
	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// step is how many packets go through decoding and digests at a time: the arrays
// in between stay in the first-level cache.
const step = 512

// packets is the task for one batch: what it takes to judge its packets.
type packets struct {
	run      *runner
	identity *flow.Identity
	digester asm.MessageDigester

	tally     tally
	digests   []asm.Digest
	times     []int64
	protocols []flow.Protocol
	points    []uint32 // empty unless points matter
	drop      []uint64 // a bit for each packet that is a copy
}

func newPackets(r *runner) *packets {
	return &packets{run: r, identity: flow.NewIdentity(r.cfg.Identity), digester: r.cfg.digester()}
}

// Prepare decodes and digests the packets.
func (p *packets) Prepare(b *capture.Batch) {
	n := len(b.Frames)
	p.digests = resize(p.digests, n)
	p.times = resize(p.times, n)
	p.protocols = resize(p.protocols, n)
	p.drop = resize(p.drop, (n+63)/64)
	p.tally = newTally()
	for from := 0; from < n; from += step {
		p.prepare(b, from, min(from+step, n))
	}
}

func (p *packets) prepare(b *capture.Batch, from, to int) {
	protocols := p.protocols[from:to]
	buf, msgs := p.identity.Read(protocols, b, from)
	p.digester.SumMessages(p.digests[from:to], buf, msgs)
	p.tally.packets(p.times[from:to], b.Frames[from:to], protocols)
}

// Apply judges the packets.
func (p *packets) Apply(b *capture.Batch) error {
	if p.run.cfg.Across {
		p.points = resize(p.points, len(b.Frames))
		p.run.where.Gather(p.points, b, 0)
	}
	p.run.filter.TestAndSet(p.drop, p.digests, p.times, p.points)
	p.run.books.batch(&p.tally, b.Frames, p.protocols, p.drop)
	return nil
}

// Write writes the packets that go somewhere.
func (p *packets) Write(b *capture.Batch) error { return p.run.sinks.write(b, p.drop) }

// resize returns s with n elements, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
