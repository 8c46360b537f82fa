// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// groupSize is how many packets go through identities and digests at a time: the arrays in
// between stay in the first-level cache.
const groupSize = 512

// BatchDetector judges one batch at a time, in two steps. Prepare does what needs no other
// batch: identities and digests. Judge asks the filter. It keeps its memory from batch to
// batch, and is for one goroutine at a time.
type BatchDetector struct {
	detector *Detector
	identity *flow.Identity
	digester digest.MessageDigester
	decoder  *flow.Decoder        // for frames without IP
	within   *flow.SightingReader // nil without Within
	messages *flow.Messages       // of the packets that were read last

	digests   []digest.Digest
	tally     Tally
	times     []int64
	protocols []flow.Protocol
	points    []uint32 // empty unless points matter
	drop      []uint64 // a bit for each packet that is a copy

	only, protected []uint64 // a bit for each packet that was chosen; empty without choosers
	chosen          chosen
	doubts          doubts
	fixed           []uint64 // a bit for each packet that is unjudged, undecidable or protected; nil without any
	fixes, repeats  []uint64 // memory of fixed, and of copies where they are not those of drop
	copies          []uint64 // a bit for each packet that is no first sighting: copies and unjudged ones
	unjudged        uint64   // packets of the last batch
	spared          uint64   // copies of it that are protected
}

// NewBatchDetector makes a BatchDetector. A pipeline needs one for each batch in flight.
func (d *Detector) NewBatchDetector() *BatchDetector {
	p := &BatchDetector{detector: d, identity: flow.NewIdentity(d.identity), digester: d.digester()}
	p.decoder = flow.NewDecoder(flow.DecoderConfig{Inner: d.identity.Kind == flow.Inner})
	if d.within.Fields != 0 {
		p.within = flow.NewSightingReader(d.within)
	}
	return p
}

// Prepare decodes and digests the packets of a batch. Meanwhile, other BatchDetectors may
// prepare or judge theirs.
func (p *BatchDetector) Prepare(b *capture.Batch) {
	p.prepare(b, nil)
}

// prepare is Prepare, with what is done for packets that wait, unless held is nil.
func (p *BatchDetector) prepare(b *capture.Batch, held *HoldBatch) {
	n := len(b.Frames)
	p.Reset(n)
	if held != nil {
		held.Reset(n)
	}
	for from := 0; from < n; from += groupSize {
		to := min(from+groupSize, n)
		p.Read(b, from, to)
		if held != nil {
			held.Read(b, p, from, to)
		}
	}
}

// Reset makes room for a batch of n packets, which Read then takes part by part.
func (p *BatchDetector) Reset(n int) {
	p.digests = resize(p.digests, n)
	p.tally = NewTally()
	p.times = resize(p.times, n)
	p.protocols = resize(p.protocols, n)
	words := (n + 63) / 64
	p.drop = resize(p.drop, words)
	if p.detector.only != nil {
		p.only = resize(p.only, words)
	}
	if p.detector.protect != nil {
		p.protected = resize(p.protected, words)
	}
	p.doubts.reset(words)
}

// Read prepares the packets from to to-1 of a batch, and returns their digests. from is a
// multiple of 64.
func (p *BatchDetector) Read(b *capture.Batch, from, to int) []digest.Digest {
	p.messages = p.identity.FromFrames(p.protocols[from:to], b, from)
	p.messages.Sum(p.digests[from:to], p.digester)
	p.doubts.add(p.messages.Doubts(), from, p.detector.across)
	if p.within != nil {
		separate(p.digests[from:to], p.within.Points(b, from, to-from))
	}
	before := p.tally.NonIP
	p.tally.add(p.times[from:to], b.Frames[from:to], p.protocols[from:to])
	if p.tally.NonIP > before {
		p.tally.unopened(p.decoder, b, from, p.protocols[from:to])
	}
	p.choose(b, from, to)
	return p.digests[from:to]
}

// Times returns the times of the packets that were read, or calendar.NoTime for times that
// cannot be relied on.
func (p *BatchDetector) Times() []int64 { return p.times }

// Tally returns the counts of the packets that were read since Reset.
func (p *BatchDetector) Tally() *Tally { return &p.tally }

// Digests returns the digests of the packets that were read.
func (p *BatchDetector) Digests() []digest.Digest { return p.digests }

// Protocols returns the protocols of the packets that were read.
func (p *BatchDetector) Protocols() []flow.Protocol { return p.protocols }

// Judge judges the packets of a prepared batch, and returns a bitmap of the copies. It is
// valid until the next Reset. Batches must be judged one after another, in the order of the
// stream.
func (p *BatchDetector) Judge(b *capture.Batch) (drop []uint64) {
	d := p.detector
	if d.across {
		p.points = resize(p.points, len(b.Frames))
		d.points.Number(p.points, b, 0)
	}
	if judged := p.judged(); judged != nil {
		p.judgeChosen(judged)
	} else {
		d.filter.TestAndSet(p.drop, p.digests, p.times, p.points)
	}
	p.fix()
	p.doubts.count(p.drop)
	d.count(p.drop, len(b.Frames))
	return p.drop
}

// resize returns s with n elements, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
