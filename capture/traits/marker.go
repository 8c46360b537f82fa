// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// MarkerConfig describes the stream to mark.
type MarkerConfig struct {
	// Decoder finds the IP header that the identity of packets begins with.
	Decoder *headers.Decoder
	// Inputs are the names of the inputs, by capture.Section.Input.
	Inputs []string
	// Window is the largest distance in time of a copy from its original. It is 0 for windows of
	// packets. Then packets without a time have copies, too.
	Window time.Duration
	// Removed gets each copy, in the place of comments; nil for comments. It may not keep what it
	// gets.
	Removed func(*Removal)
}

// Marker marks the copies in one stream. It takes some 33 MiB, allocates nothing in the
// steady state, and is for one goroutine at a time.
type Marker struct {
	inputs  []string
	window  time.Duration
	removed func(*Removal)
	removal Removal // the memory of remove
	reader  *reader
	kept    memory
	number  uint64 // of the last packet
	out     capture.Batch
	// The tables of the batch that knew most of them.
	interfaces []capture.Interface
	sections   []capture.Section
	text       []byte
	elsewhere  []uint64 // of MarkWith
}

// NewMarker returns a Marker at the start of a stream.
func NewMarker(cfg MarkerConfig) *Marker { return newMarker(cfg, remembered) }

// newMarker returns a Marker that remembers this number of packets.
func newMarker(cfg MarkerConfig, packets int) *Marker {
	return &Marker{inputs: cfg.Inputs, window: cfg.Window, removed: cfg.Removed, reader: newReader(cfg.Decoder), kept: newMemory(packets)}
}

// Mark returns what a capture.Writer is to get: b with a comment on each packet whose bit in drop is
// set, and a nil bitmap, which keeps all. With MarkerConfig.Removed it returns b and drop. digests are
// the digests of all packets of b. Batches come in the order of their stream, each once.
//
// A copy may come before the kept packet. Then later has the distance to the kept packet, in
// packets. It is 0 for all other packets, and nil if there are no such copies. next are the
// batches of the stream after b, as far as later leads to them. The comment on any other copy
// names the last kept packet with its digest, within MarkerConfig.Window if any of the last few
// is.
//
// The result shares the memory of b, except the comments, and is valid until the next call. b
// itself stays as it is.
func (m *Marker) Mark(b *capture.Batch, digests []digest.Digest, drop []uint64, later []uint32, next []*capture.Batch) (*capture.Batch, []uint64) {
	comments := m.out.Comments
	comments.Reset()
	block := 0
	for i := range b.Frames {
		if i%touchAhead == 0 {
			m.kept.touch(digests[i:min(i+touchAhead, len(b.Frames))])
		}
		for ; block < len(b.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
			m.number += framesOf(b.Blocks[block].Type)
		}
		m.number++
		p := m.describe(b, i, m.number)
		m.text = m.text[:0]
		switch {
		case capture.IsSet(m.elsewhere, i):
			m.kept.enter(digests[i], &p) // as the original of later copies
			m.text = append(m.text, "copy of a packet of another site"...)
			m.remove(nil, &p)
		case !capture.IsSet(drop, i):
			m.kept.enter(digests[i], &p)
		case later != nil && later[i] > 0:
			m.enterLater(b, i, digests[i], later[i], next)
			fallthrough
		default:
			kept := m.kept.find(digests[i], p.time, m.window)
			if m.remove(kept, &p); m.removed == nil {
				m.text = m.comment(m.text, kept, &p)
			}
		}
		comments.Append(m.text)
	}
	for _, k := range b.Blocks[block:] {
		m.number += framesOf(k.Type)
	}
	if m.removed != nil {
		return b, drop
	}
	m.out = *b
	m.out.Comments = comments
	return &m.out, nil
}

// MarkWith is Mark for a site of several. Packets whose bit in elsewhere is set are copies of
// packets that other sites have sent.
func (m *Marker) MarkWith(b *capture.Batch, digests []digest.Digest, drop, elsewhere []uint64) (*capture.Batch, []uint64) {
	m.elsewhere = elsewhere
	defer func() { m.elsewhere = nil }()
	return m.Mark(b, digests, drop, nil, nil)
}

// enterLater enters the packet that is kept in place of frame i of b, which comes after it.
func (m *Marker) enterLater(b *capture.Batch, i int, d digest.Digest, after uint32, next []*capture.Batch) {
	at, number := i+int(after), m.number-shown(b, i)
	for at >= len(b.Frames) {
		if len(next) == 0 {
			return
		}
		at -= len(b.Frames)
		number += shown(b, len(b.Frames))
		b, next = next[0], next[1:]
	}
	p := m.describe(b, at, number+shown(b, at))
	m.kept.enter(d, &p)
}

// shown returns how many packets Wireshark shows of b before frame i, or of all b if there
// is no frame i.
func shown(b *capture.Batch, i int) uint64 {
	n := uint64(i)
	for _, k := range b.Blocks {
		if int(k.Before) <= i {
			n += framesOf(k.Type)
		}
	}
	return n
}

// framesOf returns how many packets Wireshark shows for a block of this type.
func framesOf(kind uint32) uint64 {
	if kind == capture.BlockCustom || kind == capture.BlockJournal {
		return 1
	}
	return 0
}

// maxLabels is how many identifiers are remembered of a packet.
const maxLabels = 7

// packet holds the facts that comments name.
type packet struct {
	number uint64
	time   int64
	traits traits
	iface  uint32
	// capLen and wireLen are its lengths. base is the part of them that headers before IP
	// take, or VLAN tags if there is no IP.
	capLen, wireLen, base uint32
	labels                [maxLabels]uint32
	kinds                 [maxLabels]headers.LayerKind // of the labels; 0 behind the last
}

// describe describes frame i of b.
func (m *Marker) describe(b *capture.Batch, i int, number uint64) packet {
	if len(b.Interfaces) > len(m.interfaces) {
		m.interfaces, m.sections = b.Interfaces, b.Sections
	}
	f := &b.Frames[i]
	p := packet{
		number: number, time: f.Time, traits: m.reader.read(b, i),
		iface: f.Interface, capLen: f.CapLen, wireLen: f.WireLen, base: m.reader.header[0].Start,
	}
	n, tags := 0, uint32(0)
	for _, l := range m.reader.stack.Layers {
		if l.Kind == headers.LayerVLAN {
			tags += l.End - l.Start
		} else if !l.Kind.HasID() {
			continue
		}
		if n < maxLabels {
			p.labels[n], p.kinds[n] = l.ID, l.Kind
			n++
		}
	}
	if p.traits.Version == 0 {
		p.base = tags
	}
	return p
}

// remembered is how many packets a Marker remembers: 33 MiB of them.
const remembered = 200_000

// memory remembers the packets that were kept last. Packets whose digests agree in some bits
// are a chain, from the newest to the oldest. The oldest packet of all makes room for each
// new packet, but stays in its chain: a chain ends at a place that is too old.
type memory struct {
	rows    []row
	newest  []uint64 // of each chain, whose number is a power of two: its place plus 1
	entered uint64   // rows so far; row number n is at place n modulo len(rows)
	touched uint64   // scratch
}

// row is a packet that was kept.
type row struct {
	digest digest.Digest
	before uint64 // in its chain, as memory.newest
	packet packet
}

func newMemory(rows int) memory {
	return memory{rows: make([]row, rows), newest: make([]uint64, 1<<bits.Len(uint(rows)))}
}

// chain returns the newest of the chain of a digest.
func (m *memory) chain(d digest.Digest) *uint64 { return &m.newest[d[0]&uint64(len(m.newest)-1)] }

// touchAhead is the number of packets whose chains are loaded ahead.
const touchAhead = 128

// touch loads the newest of the chains of digests. No load waits for the others, so they overlap.
func (m *memory) touch(digests []digest.Digest) {
	for _, d := range digests {
		m.touched += *m.chain(d)
	}
}

// enter remembers a packet that was kept.
func (m *memory) enter(d digest.Digest, p *packet) {
	first := m.chain(d)
	m.rows[m.entered%uint64(len(m.rows))] = row{digest: d, before: *first, packet: *p}
	m.entered++
	*first = m.entered
}

// nearby is how many packets with the digest of a copy are searched for one within the window. There
// are several where clocks differ by more than the window.
const nearby = 16

// find returns the packet with this digest that was entered last, or nil. With a window it returns
// the last packet within the window of a time, if any of the last few is, and else the last packet
// that has a time.
func (m *memory) find(d digest.Digest, at int64, within time.Duration) *packet {
	var last *packet
	for n, equal := *m.chain(d), 0; equal < nearby && n > 0 && m.entered-n < uint64(len(m.rows)); {
		r := &m.rows[(n-1)%uint64(len(m.rows))]
		n = r.before
		if r.digest != d || within > 0 && r.packet.time == capture.NoTime {
			continue
		}
		equal++
		if p := &r.packet; within == 0 || calendar.Distance(p.time, at) <= uint64(within) {
			return p
		} else if last == nil {
			last = p
		}
	}
	return last
}
