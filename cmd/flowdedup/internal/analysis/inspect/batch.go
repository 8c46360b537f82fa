// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Where packets were captured in part, as many bytes of them are compared as the first such
// packet has, less the headers that others may have before IP. These bounds hold all headers of
// most packets, and of TCP over IPv4 in any case.
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

// Batch prepares batches. It keeps its memory from batch to batch, and is for one goroutine at a
// time.
type Batch struct {
	inspector *Inspector
	decoder   *headers.Decoder
	// Of whole packets, and of their first bytes: nil before the first truncated packet.
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

	// Element i of the slices below belongs to frame frames[i].
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

// identityOf returns the identity of the first bytes of packets, 0 for whole packets. Copies are counted
// by how they differ in the fields that it leaves out: see kindOf.
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
		for i, protocol := range protocols {
			if protocol == headers.NonIP {
				p.nonIP++
				p.countUnopened(b, from+i)
			}
		}
		p.pick(b.Frames[from:to], from, mask)
		p.addPicked(cut > 0)
	}
}

// pick picks the frames of a group that are in the sample: their digests have no bit of mask. The first
// frame has number from in its batch. It counts the frames without a time.
func (p *Batch) pick(frames []capture.Frame, from int, mask uint64) {
	sums, n, noTime, numbers := p.sums[:len(frames)], uint64(0), uint64(0), capture.Resize(p.numbers, len(frames))
	for i := range frames {
		noTime += count(!calendar.HasTime(frames[i].Time))
		numbers[n] = int32(i)
		n += count(sums[i][1]&mask == 0)
	}
	p.noTime += noTime
	p.numbers, p.picked.Frames = numbers[:n], p.picked.Frames[:0]
	for k, i := range p.numbers {
		p.picked.Frames, p.digests = append(p.picked.Frames, frames[i]), append(p.digests, sums[i])
		p.numbers[k] += int32(from)
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
	n := len(p.seen)
	p.seen, p.origins = slices.Grow(p.seen, len(h))[:n+len(h)], slices.Grow(p.origins, len(h))[:n+len(h)]
	for i := range h {
		p.add(n+i, b, i, &h[i])
	}
	p.try(h)
}

// countUnopened counts frame i of b, which has no IP or a closed tunnel, if it was not opened.
func (p *Batch) countUnopened(b *capture.Batch, i int) {
	if what, ok := p.decoder.Unopened(b, i); ok {
		p.unopened.Count(what, 1)
	}
}

// add describes frame i of b, which is element number.
func (p *Batch) add(number int, b *capture.Batch, i int, h *headers.Header) {
	s := &p.seen[number]
	p.describe.describe(s, &p.origins[number], b, i, h)
	s.time, s.full = calendar.Usable(b.Frames[i].Time), uint32(p.digests[number][1]>>32)
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

// firsts are the first packets of a stream, up to the first truncated packet. Captures with a snap
// length begin with short packets, and the recommended command compares their first bytes, too.
type firsts struct {
	packets capture.Batch
	seen    []sighting
	over    bool // the first truncated packet came later
}

// mostFirsts bounds the packets, and mostFirstBytes the bytes of them.
const (
	mostFirsts     = 1 << 12
	mostFirstBytes = 4 << 20
)

// add adds the packets of b, which p has prepared.
func (f *firsts) add(p *Batch, b *capture.Batch) {
	f.over = f.over || len(f.seen)+len(p.seen) > mostFirsts
	f.packets.Interfaces, f.packets.Sections = b.Interfaces, b.Sections
	for i := 0; i < len(p.seen) && !f.over; i++ {
		frame := b.Frames[p.frames[i]]
		data := b.Data(int(p.frames[i]))
		frame.Data = uint32(len(f.packets.Buf))
		f.packets.Buf, f.packets.Frames, f.seen = append(f.packets.Buf, data...), append(f.packets.Frames, frame), append(f.seen, p.seen[i])
		f.over = len(f.packets.Buf) > mostFirstBytes
	}
	if f.over {
		*f = firsts{over: true}
	}
}

// measure begins a measure of the first bytes of packets with the first packets.
func (f *firsts) measure(n *Inspector, bytes int) {
	n.prefix = newMeasure(n, n.cfg.Memory/4, bytes)
	p := n.NewBatch()
	p.seen = f.seen
	for i := range f.seen {
		p.frames = append(p.frames, int32(i))
	}
	p.readPrefixes(&f.packets)
	n.prefix.add(p, p.prefixes, p.prefixDoubts, 0, len(p.seen), false, &f.packets)
	*f = firsts{over: true}
}

// doubt says that too little of a packet is compared to know it from others: see identity.Doubt.
type doubt uint8

const (
	known        doubt = iota
	checksumOnly       // a checksum of 16 bits is all that numbers it
	unknown
)

// doubtReader reads the doubts about packets of a group. Identities of inspections leave the
// checksum out, and it is compared separately from the digest. So it has an identity of its
// own.
type doubtReader struct {
	identity *identity.Identity
	of       [capture.GroupSize]doubt
}

func (n *Inspector) newDoubtReader(bytes int) *doubtReader {
	return &doubtReader{identity: identity.New(identity.Config{Kind: identity.Inner, Bytes: bytes, Tunnels: n.cfg.Tunnels})}
}

// read replaces the doubts of the group before by the doubts in all, of n packets.
func (r *doubtReader) read(all []identity.Doubt, n int) {
	clear(r.of[:n])
	for _, one := range all {
		if r.of[one.Number] = unknown; one.Checksum {
			r.of[one.Number] = checksumOnly
		}
	}
}

// alike counts a packet that is known only by a checksum, or in doubt, if it equals e within a window.
// Filters remove a packet known by a checksum. Filters that look only at other points remove a packet
// of another point that is in doubt. Nothing else is concluded from it.
func (m *measure) alike(e *entry, s *sighting, is doubt) {
	v := m.table.judge(e, s, &m.owner.windows)
	if is == unknown {
		v.anywhere = 0
	} else if distance(s.time, e.time) <= uint64(m.owner.windows[windows-1]) {
		m.checksumOnly += s.weight()
	}
	v.count(&m.doubtful, s.weight())
	m.table.restart(e, s)
}
