// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Where packets were captured in part, as many bytes of them are compared as the first such
// packet has, less the headers that others may have before IP. These bounds hold all headers of
// most packets, and those of TCP over IPv4.
const (
	identityBytes      = 64
	leastIdentityBytes = 40
	headersBeforeIP    = 8 // two VLAN tags
)

// prefixOf returns how many bytes are compared if the first packet that was captured in part has
// some.
func prefixOf(captured uint32) int {
	return min(max(int(captured)-headersBeforeIP, leastIdentityBytes), identityBytes)
}

// Batch prepares one batch at a time. It keeps its memory from batch to batch, and is for
// one goroutine at a time.
type Batch struct {
	inspector *Inspector
	decoder   *headers.Decoder
	// Of whole packets, and of their first bytes: nil before one was captured in part.
	whole, prefix *identity.Identity
	trials        []*identity.Identity // of the trials of the inspector
	digester      *digest.AES
	// The doubts of both.
	ofWhole, ofPrefix *doubtReader
	describe          describer
	headers           []headers.Header
	protocols         []headers.Protocol
	sums              []digest.Digest
	// picked has the frames of a group that are in the sample, of the batch that is prepared,
	// and numbers their numbers there.
	picked  capture.Batch
	numbers []int32

	// Element i of the next ones belongs to frame frames[i].
	frames  []int32
	seen    []sighting
	origins []origin
	digests []digest.Digest // of whole packets
	// prefixes are digests of the first bytes of packets. They are there if prefixed is
	// set.
	prefixes []digest.Digest
	prefixed bool
	// doubts are about whole packets, and prefixDoubts about prefixes.
	doubts, prefixDoubts []doubt
	// tried are digests by trial, of the elements in batches of which all packets are measured.
	tried [len(triedFields)][]digest.Digest

	noTime, nonIP, truncated uint64
	unopened                 headers.UnopenedCounts
	stamped                  uint64   // packets of the sample with a time header
	drop                     []uint64 // a bit for each frame
	verdicts                 []verdicts
}

// NewBatch makes a Batch for batches of the stream of an Inspector.
func (n *Inspector) NewBatch() *Batch {
	d := headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: n.cfg.Tunnels})
	p := &Batch{
		inspector: n, decoder: d, describe: describer{decoder: d, seed: n.cfg.Seed}, digester: digest.NewAES(n.cfg.Key),
		whole: n.identityOf(0), headers: make([]headers.Header, capture.GroupSize), protocols: make([]headers.Protocol, capture.GroupSize), sums: make([]digest.Digest, capture.GroupSize),
		ofWhole: n.newDoubtReader(0),
	}
	if n.cfg.Translations {
		p.trials = n.triedIdentities()
	}
	return p
}

// identityOf returns the identity of the first bytes of packets, or of whole ones. Copies may differ
// in what it leaves out, and are counted by that: see kindOf.
func (n *Inspector) identityOf(bytes int) *identity.Identity {
	return identity.New(identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.L4Checksum | identity.MSS), Bytes: bytes, Tunnels: n.cfg.Tunnels})
}

// Prepare decodes and digests the packets of b, and describes the packets of the sample. It
// allocates only when b is larger than all batches before.
func (p *Batch) Prepare(b *capture.Batch) {
	p.frames, p.seen, p.origins, p.digests = p.frames[:0], p.seen[:0], p.origins[:0], p.digests[:0]
	p.prefixed, p.doubts = false, p.doubts[:0]
	for i := range p.tried {
		p.tried[i] = p.tried[i][:0]
	}
	p.noTime, p.nonIP, p.truncated = 0, 0, 0
	p.unopened, p.stamped = headers.UnopenedCounts{}, 0
	// The sample at the place of b is at most as large as that at the place where others
	// are now.
	mask := uint64(1)<<p.inspector.level.Load() - 1
	frames := p.picked.Frames
	p.picked = *b
	p.picked.Frames = frames
	for from, to := range b.Groups() {
		n := to - from
		sums, protocols := p.sums[:n], p.protocols[:n]
		whole := p.whole.FromFrames(protocols, b, from)
		whole.Sum(sums, p.digester)
		cut := whole.Truncated()
		p.truncated += cut
		for _, i := range whole.Closed() {
			p.countUnopened(b, from+int(i))
		}
		for i := range sums {
			f := &b.Frames[from+i]
			if protocols[i] == headers.NonIP {
				p.nonIP++
				p.countUnopened(b, from+i)
			}
			p.noTime += count(calendar.Usable(f.Time) == calendar.NoTime)
		}
		p.pick(b.Frames[from:to], from, mask)
		p.addPicked(cut > 0)
	}
}

// pick picks the frames of a group that are in the sample: those whose digests have no bit of
// mask. Number from is the first one's in its batch.
func (p *Batch) pick(frames []capture.Frame, from int, mask uint64) {
	p.picked.Frames, p.numbers = p.picked.Frames[:0], p.numbers[:0]
	for i := range frames {
		if p.sums[i][1]&mask != 0 {
			continue
		}
		p.picked.Frames, p.numbers = append(p.picked.Frames, frames[i]), append(p.numbers, int32(from+i))
		p.digests = append(p.digests, p.sums[i])
	}
}

// addPicked describes the frames that were picked. Without truncated frames there are no doubts.
func (p *Batch) addPicked(truncated bool) {
	b := &p.picked
	h := p.headers[:len(b.Frames)]
	p.decoder.Decode(h, b, 0)
	clear(p.ofWhole.of[:len(h)])
	if truncated {
		p.ofWhole.read(p.ofWhole.identity.FromHeaders(b, 0, h).Doubts(), len(h))
	}
	p.frames, p.doubts = append(p.frames, p.numbers...), append(p.doubts, p.ofWhole.of[:len(h)]...)
	for i, d := range p.digests[len(p.digests)-len(h):] {
		p.add(b, i, &h[i], &d)
	}
	p.try(h)
}

// countUnopened counts frame i of b, which has no IP or a closed tunnel, if it was not opened.
func (p *Batch) countUnopened(b *capture.Batch, i int) {
	if what, ok := p.decoder.Unopened(b, i); ok {
		p.unopened.Count(what, 1)
	}
}

// add describes a frame.
func (p *Batch) add(b *capture.Batch, i int, h *headers.Header, d *digest.Digest) {
	p.seen, p.origins = append(p.seen, sighting{}), append(p.origins, origin{})
	s := &p.seen[len(p.seen)-1]
	p.describe.describe(s, &p.origins[len(p.origins)-1], b, i, h)
	s.time, s.full = calendar.Usable(b.Frames[i].Time), uint32(d[1]>>32)
	p.stamped += count(p.describe.stamped)
}

// keep keeps the first n elements that were prepared.
func (p *Batch) keep(n int) {
	p.frames, p.seen, p.origins, p.digests, p.doubts = p.frames[:n], p.seen[:n], p.origins[:n], p.digests[:n], p.doubts[:n]
}

// move copies element from to element to.
func (p *Batch) move(to, from int) {
	if to == from {
		return
	}
	p.frames[to], p.seen[to], p.origins[to], p.digests[to] = p.frames[from], p.seen[from], p.origins[from], p.digests[from]
	p.doubts[to] = p.doubts[from]
}

// readPrefixes digests the first bytes of the packets of the sample.
func (p *Batch) readPrefixes(b *capture.Batch) {
	if p.prefixed {
		return
	}
	if p.prefix == nil {
		p.prefix, p.ofPrefix = p.inspector.identityOf(p.inspector.prefix.bytes), p.inspector.newDoubtReader(p.inspector.prefix.bytes)
	}
	p.prefixed, p.prefixes, p.prefixDoubts = true, p.prefixes[:0], p.prefixDoubts[:0]
	next := 0
	for from, to := range b.Groups() {
		n := to - from
		h := p.headers[:n]
		p.decoder.Decode(h, b, from)
		p.prefix.FromHeaders(b, from, h).Sum(p.sums[:n], p.digester)
		p.ofPrefix.read(p.ofPrefix.identity.FromHeaders(b, from, h).Doubts(), n)
		for ; next < len(p.frames) && int(p.frames[next]) < to; next++ {
			i := int(p.frames[next]) - from
			p.prefixes, p.prefixDoubts = append(p.prefixes, p.sums[i]), append(p.prefixDoubts, p.ofPrefix.of[i])
		}
	}
}
