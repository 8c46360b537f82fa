// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Batch is a batch of packets of a side, with their digests and conversations.
type Batch struct {
	packets capture.Batch
	known
}

// known has the derived data of a batch's packets.
type known struct {
	bytes     int // how many bytes of identities the digests are of, 0 for all
	digests   []digest.Digest
	protocols []headers.Protocol
	// undecidable counts packets whose compared bytes do not distinguish them within their flow: see
	// identity.Doubt.
	undecidable uint64
	truncated   uint64                 // see identity.Messages.Truncated
	closed      headers.UnopenedCounts // tunnels that were not opened
	// talks are hashes of conversations, where converse found them. The lowest bit is the direction.
	// 0 is none.
	talks []uint64
	// ends has the number of a packet's key in four, or the complement of its number in six. It is
	// valid where talks is not 0.
	ends []int32
	four [][16]byte // keys of kind keys.Flow
	six  [][48]byte
}

// knownBytes is the memory of a packet without its record: its frame, and its share of known.
const knownBytes = 32 + 16 + 2 + 8 + 4 + 16

// Preparer prepares one batch of a side at a time. It keeps its memory from batch to batch, and is
// for one goroutine at a time.
type Preparer struct {
	comparer *Comparer
	side     int
	identity *identity.Identity // of this many bytes
	bytes    int
	decoder  *headers.Decoder
	keyer    *keys.Keyer
	digester *digest.AES
	known    known
}

// NewPreparer makes a Preparer for packets that c compares, of side 0 for A and 1 for B.
func (c *Comparer) NewPreparer(side int) *Preparer {
	decode := c.cfg.Identity.Decode()
	return &Preparer{
		comparer: c, side: side, digester: digest.NewAES(c.cfg.Key), decoder: headers.NewDecoder(decode),
		keyer: keys.NewKeyer([]keys.Config{{Kind: keys.Flow}}, decode),
	}
}

// Prepare decodes and digests the packets of b, in any goroutine. It allocates only when b
// is larger than all batches before. Most packets of B need no conversation of their own: equal
// packets have the same.
func (p *Preparer) Prepare(b *capture.Batch) {
	k := &p.known
	p.digest(k, b)
	n := len(b.Frames)
	k.talks, k.ends = capture.Resize(k.talks, n), capture.Resize(k.ends, n)
	k.four, k.six = k.four[:0], k.six[:0]
	if p.side == sideA {
		for from, to := range b.Groups() {
			p.converse(k, b, from, to)
		}
	}
}

// converse finds the conversations of packets from to to-1 of b.
func (p *Preparer) converse(k *known, b *capture.Batch, from, to int) {
	clear(k.talks[from:to])
	keys := p.keyer.FromFrames(b, from, to-from)[0]
	for i, frame := range keys.V4Frame {
		at := from + int(frame)
		k.talks[at], k.ends[at] = p.comparer.talk4(&keys.V4[i]), int32(len(k.four)+i)
	}
	for i, frame := range keys.V6Frame {
		at := from + int(frame)
		k.talks[at], k.ends[at] = p.comparer.talk6(&keys.V6[i]), ^int32(len(k.six)+i)
	}
	k.four, k.six = append(k.four, keys.V4...), append(k.six, keys.V6...)
}

// digest makes the digests of b.
func (p *Preparer) digest(k *known, b *capture.Batch) {
	k.bytes = int(p.comparer.bytes.Load())
	if p.identity == nil || p.bytes != k.bytes {
		cfg := p.comparer.cfg.Identity
		p.bytes, cfg.Bytes = k.bytes, k.bytes
		p.identity = identity.New(cfg)
	}
	n := len(b.Frames)
	k.digests, k.protocols = capture.Resize(k.digests, n), capture.Resize(k.protocols, n)
	k.undecidable, k.truncated, k.closed = 0, 0, headers.UnopenedCounts{}
	for from, to := range b.Groups() {
		m := p.identity.FromFrames(k.protocols[from:to], b, from)
		m.Sum(k.digests[from:to], p.digester)
		k.truncated += m.Truncated()
		for _, i := range m.Closed() {
			if what, ok := p.decoder.Unopened(b, from+int(i)); ok {
				k.closed.Count(what, 1)
			}
		}
		for _, doubt := range m.Doubts() {
			if !doubt.Checksum {
				k.undecidable++
			}
		}
	}
}

// Take moves the content of b, which was prepared, to a Batch, and leaves meaningless content in
// b. It leaves out blocks without a packet, unless Config.Blocks is set.
func (p *Preparer) Take(to *Batch, b *capture.Batch) {
	if !p.comparer.cfg.Blocks {
		b.Blocks = b.Blocks[:0]
	}
	if !backlog.IsCopied(b) {
		to.packets, *b = *b, to.packets
		to.known, p.known = p.known, to.known
		return
	}
	if cap(to.packets.Buf) > backlog.CopyBelow {
		*to = Batch{}
	}
	k := &p.known
	backlog.Copy(&to.packets, b)
	to.known = known{
		bytes: k.bytes, undecidable: k.undecidable, truncated: k.truncated, closed: k.closed, digests: append(to.digests[:0], k.digests...), protocols: append(to.protocols[:0], k.protocols...),
		talks: append(to.talks[:0], k.talks...), ends: append(to.ends[:0], k.ends...),
		four: append(to.four[:0], k.four...), six: append(to.six[:0], k.six...),
	}
}

// refresh makes the digests of a batch again if another number of bytes is compared now.
func (p *Preparer) refresh(b *Batch) {
	if b.bytes != int(p.comparer.bytes.Load()) {
		p.digest(&b.known, &b.packets)
	}
}

// captured returns how many bytes of its identity frame i has, and whether it was captured
// in part.
func (p *Preparer) captured(b *Batch, i int) (bytes int, cut bool) {
	f := &b.packets.Frames[i]
	switch {
	case f.CapLen >= f.WireLen:
		return 0, false
	case p.comparer.cfg.Identity.Kind == identity.Frame:
		return int(f.CapLen), true
	}
	var h [1]headers.Header
	p.decoder.Decode(h[:], &b.packets, i)
	return int(h[0].End - h[0].Start), h[0].End == f.CapLen
}

// timeOf returns the time of frame i, or calendar.NoTime. No difference of two times
// overflows.
func (b *Batch) timeOf(i int) int64 {
	t := calendar.Usable(b.packets.Frames[i].Time)
	if t == calendar.NoTime {
		return t
	}
	return max(min(t, calendar.Farthest-1), 1-calendar.Farthest)
}

// talk4 hashes the conversation of an IPv4 key. Both directions differ only in the lowest bit.
func (c *Comparer) talk4(key *[16]byte) uint64 {
	ends, tail := binary.BigEndian.Uint64(key[:]), binary.BigEndian.Uint64(key[8:])
	a, b := ends>>32<<16|tail>>48, ends<<32>>16|tail>>32&0xffff
	sum := traits.Mix(min(a, b)^c.cfg.Seed, max(a, b)^tail&0xffffffff<<16)
	return sum&^1 | greater(a, b) | 2
}

// talk6 is talk4 for IPv6.
func (c *Comparer) talk6(key *[48]byte) uint64 {
	tail := binary.BigEndian.Uint64(key[32:])
	a := c.end6(key[:16], tail>>48)
	b := c.end6(key[16:32], tail>>32&0xffff)
	return traits.Mix(min(a, b), max(a, b)^tail&0xffffffff)&^1 | greater(a, b) | 2
}

// end6 hashes an address and a port.
func (c *Comparer) end6(address []byte, port uint64) uint64 {
	return traits.Mix(traits.Mix(binary.LittleEndian.Uint64(address)^c.cfg.Seed, port), binary.LittleEndian.Uint64(address[8:]))
}

// greater returns 1 if a > b, else 0.
func greater(a, b uint64) uint64 {
	_, borrow := bits.Sub64(b, a, 0)
	return borrow
}
