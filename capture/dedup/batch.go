// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/layout"
)

// BatchDetector takes one batch at a time through a Detector, in three steps. Prepare does
// what needs no other batch: identities and digests. Judge asks the filter. Write passes on
// the packets that stay, and need not be called where no packet waits: see Config.Hold. A
// BatchDetector keeps its memory from batch to batch, and is for one goroutine at a time.
type BatchDetector struct {
	detector *Detector
	identity *identity.Identity
	digester digest.MessageDigester
	decoder  *headers.Decoder       // for frames without IP
	within   *traits.SightingReader // nil without Within
	messages *identity.Messages     // of the prepared packets last

	// v are the verdicts. Fixed packets are unjudged, undecidable or protected; see judgePairs for
	// paired packets. There are ranks where packets wait and have preferences.
	v         hold.Verdicts
	tally     Tally
	protocols []headers.Protocol
	points    []uint32 // empty unless points matter

	only, protected []uint64 // a bit for each packet that was chosen; empty without choosers
	chosen          chosen
	doubts          doubts
	unfit           unfit
	notJudged       uint64 // packets of the last batch
	protectedCopies uint64 // protected packets of the last batch that are copies

	atHold     *hold.Batch // nil if no packet waits for better copies
	atHub      *hubBatch   // nil without a hub
	rankMemory []uint64
}

// NewBatchDetector makes a BatchDetector. A pipeline needs a BatchDetector for each batch in flight.
func (d *Detector) NewBatchDetector() *BatchDetector {
	p := d.newBatchDetector()
	switch {
	case d.hub != nil:
		p.atHub = &hubBatch{hub: d.hub}
	case d.hold != nil:
		p.atHold = d.hold.NewBatch(func(b *capture.Batch, i int) { d.stays(p, b, i) })
	}
	return p
}

// newBatchDetector makes a BatchDetector whose packets do not wait.
func (d *Detector) newBatchDetector() *BatchDetector {
	p := &BatchDetector{detector: d, identity: identity.New(d.cfg.Identity), digester: d.cfg.Digester(), decoder: d.NewDecoder()}
	if d.within.Fields != 0 {
		p.within = traits.NewSightingReader(d.within)
	}
	return p
}

// Prepare decodes and digests the packets of a batch. Meanwhile, other BatchDetectors may
// prepare or judge theirs.
func (p *BatchDetector) Prepare(b *capture.Batch) {
	p.Reset(len(b.Frames))
	for from, to := range b.Groups() {
		p.PrepareGroup(b, from, to)
	}
}

// Reset makes room for a batch of n packets, which PrepareGroup then takes group by group.
func (p *BatchDetector) Reset(n int) {
	p.v.Digests = capture.Resize(p.v.Digests, n)
	p.tally = NewTally()
	p.v.Times = capture.Resize(p.v.Times, n)
	p.protocols = capture.Resize(p.protocols, n)
	words := (n + 63) / 64
	p.v.Drop = capture.Resize(p.v.Drop, words)
	if p.detector.cfg.Only != nil {
		p.only = capture.Resize(p.only, words)
	}
	if p.detector.cfg.Protect != nil {
		p.protected = capture.Resize(p.protected, words)
	}
	p.doubts.reset(words)
	p.unfit.reset(n, p.detector.cfg.Checksums)
	if p.atHold == nil {
		return
	}
	p.atHold.Reset(n)
	if len(p.detector.cfg.Prefer) > 0 {
		p.v.Ranks, p.rankMemory = capture.Resize(p.v.Ranks, n), capture.Resize(p.rankMemory, words)
	}
}

// PrepareGroup prepares the packets from to to-1 of a batch, and returns their digests. from is a
// multiple of 64.
func (p *BatchDetector) PrepareGroup(b *capture.Batch, from, to int) []digest.Digest {
	p.messages = p.identity.FromFrames(p.protocols[from:to], b, from)
	p.messages.Sum(p.v.Digests[from:to], p.digester)
	p.doubts.add(p.messages.Doubts(), from, p.detector.cfg.Across)
	p.doubts.captured.Merge(p.messages.Captured())
	p.tally.Truncated += p.messages.Truncated()
	p.readUnfit(b, from, to)
	if p.within != nil {
		separate(p.v.Digests[from:to], p.within.Points(b, from, to-from))
	}
	before := p.tally.NonIP
	p.tally.add(p.v.Times[from:to], b.Frames[from:to], p.protocols[from:to])
	if p.tally.NonIP > before {
		p.tally.unopened(p.decoder, b, from, p.protocols[from:to])
	}
	for _, i := range p.messages.Closed() {
		p.tally.countUnopened(p.decoder, b, from+int(i))
	}
	p.choose(b, from, to)
	if p.atHold != nil {
		p.rank(b, from, to)
		p.atHold.Prepare(b, p.messages, from, to)
	}
	return p.v.Digests[from:to]
}

// Times returns the times of the prepared packets, or calendar.NoTime for times that
// cannot be relied on.
func (p *BatchDetector) Times() []int64 { return p.v.Times }

// Digests returns the digests of the prepared packets. In landmark windows Judge changes them:
// equal packets of different windows then have different digests.
func (p *BatchDetector) Digests() []digest.Digest { return p.v.Digests }

// Judge judges the packets of a prepared batch, and returns a bitmap of the copies. It is valid
// until the next Reset. Batches must be judged in the order of the stream. Where packets wait for
// better copies or for a hub, Write must follow, and may write other packets than the bitmap leaves.
func (p *BatchDetector) Judge(b *capture.Batch) (drop []uint64) {
	d := p.detector
	if d.cfg.Across {
		p.points = capture.Resize(p.points, len(b.Frames))
		d.cfg.Points.Number(p.points, b, 0)
	}
	judged := p.judged()
	if l := d.landmarks; l != nil {
		l.Part(p.v.Digests, p.v.Times, judged)
	}
	p.judgeSorts(judged)
	p.fix()
	p.doubts.count(p.v.Drop)
	d.count(p, b)
	d.judged(b, p.v.Drop)
	switch {
	case p.atHub != nil:
		p.atHub.judge(b, p)
	case p.atHold != nil:
		p.v.Unfit, p.v.Integrity = p.unfit.found(), p.unfit.integrity
		p.atHold.Judge(b, p.v)
	}
	return p.v.Drop
}

// Write passes a judged batch to w, with a bitmap of the packets to leave out. Where packets
// wait, it passes earlier batches that wait no longer. It may take ownership of the batch's
// buffers, and return unused buffers in their place. With Config.Mark it passes on all packets, and
// copies have comments, unless Mark only reports copies. Calls come in the order of the calls of
// Judge, while later batches are judged. After an error of w nothing more is written.
//
// Batches that wait are written in later calls, so live captures call Write with empty batches
// while no packets come.
func (p *BatchDetector) Write(b *capture.Batch, w PacketWriter) error {
	d := p.detector
	write := d.final(w)
	switch {
	case p.atHub != nil:
		return p.atHub.write(b, write)
	case p.atHold != nil:
		return p.atHold.Write(b, write)
	case d.cfg.Mark != nil:
		return write(d.cfg.Mark.Mark(b, p.v.Digests, p.v.Drop, nil, nil))
	}
	return write(b, p.v.Drop)
}

// settled returns the verdicts with which Write will pass on the judged batch. It reports
// whether they are final, and the batch is passed on as it is.
func (p *BatchDetector) settled() (drop []uint64, final bool) {
	switch {
	case p.atHub != nil, p.detector.cfg.Mark != nil:
		return nil, false
	case p.atHold != nil:
		return p.atHold.Final()
	}
	return p.v.Drop, true
}

// Finish passes on what waits. Call it after the last Write of all BatchDetectors, as a
// pipeline.Finisher. It returns the first error of w, after which it writes no more.
func (d *Detector) Finish(w PacketWriter) error {
	switch {
	case d.hub != nil:
		return d.hub.finish(d.final(w))
	case d.hold != nil:
		return d.hold.Finish(d.final(w))
	}
	return nil
}

// separate makes the digests of equal packets differ if their points do. A point is a
// keyed hash of 64 bits. Two mixers make a mask of 128 bits of it, so the digests at two points are
// as different as the digests of different packets.
func separate(digests []digest.Digest, points []uint64) {
	for i, point := range points[:len(digests)] {
		digests[i][0] ^= layout.Mix(point)
		digests[i][1] ^= layout.Mix(^point)
	}
}
