// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"bytes"
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
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

// Marker marks the copies in one stream. It takes some 32 MiB, allocates nothing in the
// steady state, and is for one goroutine at a time.
type Marker struct {
	inputs   []string
	window   time.Duration
	removed  func(*Removal)
	removal  Removal // the memory of remove
	reader   *reader
	kept     memory
	copied   packet // the last copy
	original packet // of copied, if it was kept as it came
	number   uint64 // of the last packet
	out      capture.Batch
	alone    capture.Batch     // has short frames: a packet that was kept as it came, and its copy
	headers  [2]headers.Header // of alone
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
	m := &Marker{inputs: cfg.Inputs, window: cfg.Window, removed: cfg.Removed, reader: newReader(cfg.Decoder), kept: newMemory(packets)}
	m.alone.Buf, m.alone.Frames = make([]byte, 3*frameLen), make([]capture.Frame, 2)
	return m
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
	m.know(b)
	comments := m.out.Comments
	comments.Reset()
	block := 0
	for i, end := 0, 0; i < len(b.Frames); i = end {
		for ; block < len(b.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
			m.number += framesOf(b.Blocks[block].Type)
		}
		m.number++
		end = i + 1
		switch {
		case capture.IsSet(m.elsewhere, i):
			m.keep(digests[i:end], b, i, m.number) // as the original of later copies
			comments.Set(i, []byte("copy of a packet of another site"))
			m.remove(nil, m.describe(&m.copied, b, i, m.number))
		case !capture.IsSet(drop, i):
			if len(b.Blocks) == block && m.elsewhere == nil {
				_, end = capture.NextRun(drop, i, len(b.Frames))
			}
			m.keep(digests[i:end], b, i, m.number)
			m.number += uint64(end - i - 1)
		case later != nil && later[i] > 0:
			m.enterLater(b, i, digests[i:end], later[i], next)
			fallthrough
		default:
			kept := m.recall(m.kept.find(digests[i], b.Frames[i].Time, m.window), b, i)
			if m.remove(kept, &m.copied); m.removed == nil {
				m.text = m.comment(m.text[:0], kept, &m.copied)
				comments.Set(i, m.text)
			}
		}
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
func (m *Marker) enterLater(b *capture.Batch, i int, d []digest.Digest, after uint32, next []*capture.Batch) {
	at, number := i+int(after), m.number-shown(b, i)
	for at >= len(b.Frames) {
		if len(next) == 0 {
			return
		}
		at -= len(b.Frames)
		number += shown(b, len(b.Frames))
		b, next = next[0], next[1:]
	}
	m.keep(d, b, at, number+shown(b, at))
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

// packet holds what comments name.
type packet struct {
	number          uint64
	time            int64
	iface           uint32
	capLen, wireLen uint32
	raw             bool   // facts hold the captured bytes: see keep
	before          uint16 // of memory
	facts
}

// facts are what the bytes of a packet say.
type facts struct {
	traits traits
	// base is the part of its lengths that headers before IP take, or VLAN tags if there is no IP.
	base   uint32
	labels [maxLabels]uint32
	kinds  [maxLabels]headers.LayerKind // of the labels; 0 behind the last
}

// frameLen is the length of the largest frame that is kept as it came.
const frameLen = int(unsafe.Sizeof(facts{}))

// frame returns the memory of the facts, which hold no pointers.
func (p *packet) frame() *[frameLen]byte { return (*[frameLen]byte)(unsafe.Pointer(&p.facts)) }

// know takes the tables of b, if they have more.
func (m *Marker) know(b *capture.Batch) {
	if len(b.Interfaces) > len(m.interfaces) {
		m.interfaces, m.sections = b.Interfaces, b.Sections
	}
}

// keep remembers frames from on of b, as many as digests, as kept packets. The first has this number.
// Few kept packets have copies, so keep only copies short frames, and recall describes a frame when a
// copy comes. The description of a packet without options depends on nothing but its bytes and interface.
func (m *Marker) keep(digests []digest.Digest, b *capture.Batch, from int, number uint64) {
	m.know(b)
	for i := range digests {
		p, f := m.kept.enter(&digests[i]), &b.Frames[from+i]
		if p.raw = int(f.CapLen) <= frameLen && !b.HasOptions(from+i); p.raw {
			p.set(f, number+uint64(i))
			copy(p.frame()[:], b.Data(from+i))
		} else {
			m.describe(p, b, from+i, number+uint64(i))
		}
	}
}

// recall describes frame i of b in copied, and its original, which it returns. kept is the
// original as it was kept, or nil.
func (m *Marker) recall(kept *packet, b *capture.Batch, i int) *packet {
	if kept == nil || !kept.raw {
		m.describe(&m.copied, b, i, m.number)
		return kept
	}
	if m.routed(kept, b, i) {
		return &m.original
	}
	m.describe(&m.copied, b, i, m.number)
	m.place(0, kept.frame()[:kept.capLen]) // routed has changed it
	return m.describe(kept, &m.alone, 0, kept.number)
}

// routed describes the frame that was kept in original, and frame i of b in copied, if both are short
// and plain but for VLAN tags, and differ in nothing but these, addresses and what routers change.
// Hashes of parts that are equal are 0.
func (m *Marker) routed(kept *packet, b *capture.Batch, i int) bool {
	f := &b.Frames[i]
	m.alone.Interfaces, m.alone.Sections = m.interfaces, m.sections
	m.alone.Frames[0] = capture.Frame{Time: kept.time, CapLen: kept.capLen, WireLen: kept.wireLen, Interface: kept.iface}
	if m.alone.Frames[1] = *f; int(f.CapLen) > frameLen || m.interfaces[f.Interface].LinkType != capture.LinkEthernet || m.interfaces[kept.iface].LinkType != capture.LinkEthernet {
		return false
	}
	m.place(0, kept.frame()[:kept.capLen])
	m.place(1, b.Data(i))
	m.reader.decoder.Decode(m.headers[:], &m.alone, 0)
	first, second := m.split(&m.original, 0, kept.number), m.split(&m.copied, 1, m.number)
	if first == nil || !bytes.Equal(first, second) {
		return false
	}
	const tags = 2 * addressLen
	before, after := m.alone.Data(0)[:m.original.base-typeLen], m.alone.Data(1)[:m.copied.base-typeLen]
	if !bytes.Equal(before[:tags], after[:tags]) {
		m.copied.traits.MAC = 1
	}
	if !bytes.Equal(before[tags:], after[tags:]) {
		m.copied.traits.VLAN = 1
	}
	return true
}

// place copies a short frame to frame n of alone.
func (m *Marker) place(n int, frame []byte) {
	m.alone.Frames[n].Data = uint32(n * frameLen)
	copy(m.alone.Buf[n*frameLen:], frame)
}

// split moves the fields that routers change from frame n of alone to p, describes its VLAN tags, and
// returns the rest from the ethertype on. It returns nil unless the frame is plain but for the tags.
func (m *Marker) split(p *packet, n int, number uint64) []byte {
	h, f, data := &m.headers[n], &m.alone.Frames[n], m.alone.Data(n)
	if h.Version == 0 || h.Start != ethernetLen+tagLen*uint32(h.Tags) || h.Tags > maxLabels || !headers.IsPlainEthernet(data[h.Start-ethernetLen:]) {
		return nil
	}
	p.set(f, number)
	ip := data[h.Start:h.End]
	p.facts = facts{base: h.Start}
	p.traits.Point.Interface = m.interfaces[f.Interface].CapturePoint
	p.traits.Version, p.traits.Routed = h.Version, RoutedOf(ip)
	for t := range h.Tags {
		p.labels[t], p.kinds[t] = uint32(binary.BigEndian.Uint16(data[ethernetLen+tagLen*int(t):]))&0xfff, headers.LayerVLAN
	}
	ClearRouted(ip)
	return data[h.Start-typeLen:]
}

// set sets what f says.
func (p *packet) set(f *capture.Frame, number uint64) {
	p.number, p.time, p.iface, p.capLen, p.wireLen = number, f.Time, f.Interface, f.CapLen, f.WireLen
}

// describe describes frame i of b in p, and returns p.
func (m *Marker) describe(p *packet, b *capture.Batch, i int, number uint64) *packet {
	p.set(&b.Frames[i], number)
	p.raw = false
	p.facts = facts{traits: m.reader.read(b, i), base: m.reader.header[0].Start}
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
