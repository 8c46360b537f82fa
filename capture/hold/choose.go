// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// choose passes the packets, and exchanges them for better copies.
func (x *Batch) choose(b *capture.Batch) {
	h, blocks := x.hold, b.Blocks
	for from := 0; from < len(b.Frames); from += 64 {
		to := min(from+64, len(b.Frames))
		if all := ^uint64(0) >> (64 - (to - from)); h.idle && x.begins(from/64)&all == 0 {
			h.skip(x.verdicts.Times[from:to])
		} else {
			blocks = x.chooseWord(b, blocks, from, to, all)
		}
	}
	h.passBlocks(blocks, len(b.Frames))
}

// chooseWord chooses among the packets from to to-1, which share a word of bits; all has their
// bits. It decides a run of packets after Hold.pass has taken the run, since nothing is settled
// meanwhile. It returns the blocks that are left.
func (x *Batch) chooseWord(b *capture.Batch, blocks []capture.Block, from, to int, all uint64) []capture.Block {
	h, times, open := x.hold, x.verdicts.Times, x.undecided(from/64)&all
	h.candidates.load(x.verdicts.Digests[from:to], open)
	for at := from; at < to; {
		if h.idle {
			begin := from + min(bits.TrailingZeros64(x.begins(from/64)>>(at-from)<<(at-from)), to-from)
			h.skip(times[at:begin])
			blocks = h.passBlocks(blocks, begin)
			if at = begin; at == to {
				break
			}
			h.begin()
			open = open >> (at - from) << (at - from)
		}
		end := to
		if blocks = h.passBlocks(blocks, at); len(blocks) > 0 {
			end = min(end, int(blocks[0].Before))
		}
		if h.idle {
			continue
		}
		at += h.pass(times[at:end], b.Frames[at:end], open>>(at-from))
		later := ^uint64(0) << (at - from)
		for run := open &^ later; run != 0; run &= run - 1 {
			x.decide(b, from+bits.TrailingZeros64(run))
		}
		open &= later
		h.closeFull()
	}
	return blocks
}

// begins returns the packets of a word for which others begin to wait: first sightings that
// may be exchanged.
func (x *Batch) begins(w int) (begin uint64) {
	h, v := x.hold, &x.verdicts
	if !x.ranksAll() {
		if h.homes != nil {
			begin = ^v.Copies[w] &^ x.home[w]
		}
		return begin &^ v.Fixed[w]
	}
	for firsts := ^v.Copies[w] & (^uint64(0) >> (64 - min(len(v.Times)-w*64, 64))); firsts != 0; firsts &= firsts - 1 {
		if i := w*64 + bits.TrailingZeros64(firsts); x.quality(i) > 0 && v.Times[i] != calendar.NoTime {
			begin |= firsts & -firsts
		}
	}
	return begin
}

// ranksAll reports whether packets from home may differ in quality.
func (x *Batch) ranksAll() bool {
	v := &x.verdicts
	return len(v.Ranks) > 0 || x.hold.cfg.Intact || len(v.Unfit) > 0 || len(v.Paired) > 0
}

// undecided returns the packets of a word that decide has to look at: firsts from elsewhere, and
// copies from home; all packets where ranksAll. A first from home must end the choice between
// earlier packets that it equals, unless it is too late for them.
func (x *Batch) undecided(w int) uint64 {
	h, v := x.hold, &x.verdicts
	if x.ranksAll() {
		return ^uint64(0)
	}
	open := v.Copies[w]
	if h.homes != nil {
		open ^= ^x.home[w]
	}
	open &^= v.Fixed[w]
	if h.stream.Window == 0 {
		open |= ^v.Copies[w]
	}
	return open
}

// decide handles a packet: the first of equal packets waits for a better copy, and a copy may take
// its place.
func (x *Batch) decide(b *capture.Batch, i int) {
	h, v := x.hold, &x.verdicts
	quality, fixed, first := x.quality(i), capture.IsSet(v.Fixed, i), !capture.IsSet(v.Copies, i)
	number := x.own.first + uint64(i)
	best := quality == 0 || fixed || v.Times[i] == calendar.NoTime
	switch {
	case first && best:
		h.candidates.forget(v.Digests[i][1])
	case first:
		capture.SetBit(x.own.waiting, i)
		if h.candidates.enter(v.Digests[i][1], number, quality, h.settled) {
			h.stats.Early++
		}
	case !fixed && !x.improve(b, i, quality) && capture.IsSet(v.Paired, i):
		x.own.drop[i/64] &^= 1 << (uint(i) % 64) // the unfit packet may have been written
		x.stays(b, i)
	}
}

// improve keeps copy i in the place of the equal packet that is kept, if copy i is better and the
// kept packet is not settled. It reports whether it has.
func (x *Batch) improve(b *capture.Batch, i int, quality uint64) bool {
	h, v := x.hold, &x.verdicts
	c := h.candidates.find(v.Digests[i][1])
	if c == nil || quality >= c.quality() || c.number() < h.settled || v.Times[i] == calendar.NoTime {
		return false
	}
	from := x.own
	if c.number() < from.first {
		from = h.holder(c.number())
	}
	at := int(c.number() - from.first)
	if calendar.Distance(calendar.Usable(from.frames[at].Time), v.Times[i]) > h.within {
		return false
	}
	h.count(c.quality(), quality)
	from.drop[at/64] |= 1 << (uint(at) % 64)
	x.own.drop[i/64] &^= 1 << (i % 64)
	if h.stream.Mark != nil {
		h.notePlace(x.own, c.number(), x.own.first+uint64(i))
	}
	if quality == 0 || h.stream.Mark == nil { // otherwise its comment may change
		from.waiting[at/64] &^= 1 << (at % 64)
	}
	if c.set(x.own.first+uint64(i), quality); quality == 0 {
		c.value = 0 // no copy is better
	} else {
		capture.SetBit(x.own.waiting, i)
	}
	if h.stream.Exchanged != nil {
		h.stream.Exchanged(b, &from.frames[at], &x.own.frames[i])
	}
	return true
}

// The quality of a packet orders equal packets, 0 being best. From the highest bit:
//
//	11        10 ... 3   2          1         0
//	unfit     rank       truncated  wrongSum  away
const (
	away       = 1 << iota // it is not from home
	wrongSum               // it is whole, and its checksum is wrong
	truncated              // it was captured in part
	rankShift  = 3
	unfitShift = rankShift + 8
)

// quality returns how good a packet is.
func (x *Batch) quality(i int) (quality uint64) {
	v := &x.verdicts
	if len(v.Ranks) > 0 {
		quality = uint64(v.Ranks[i]) << rankShift
	}
	if x.hold.homes != nil && !capture.IsSet(x.home, i) {
		quality |= away
	}
	if capture.IsSet(v.Unfit, i) {
		quality |= 1 << unfitShift
	}
	if len(v.Integrity) > 0 {
		switch v.Integrity[i] {
		case identity.Truncated:
			quality |= truncated
		case identity.WrongChecksum:
			quality |= wrongSum
		}
	}
	return quality
}

// count counts a copy that is kept because a packet of the same rank has a defect.
func (h *Hold) count(out, in uint64) {
	const rank = 0xff << rankShift
	switch lost := out &^ in; {
	case (out^in)&rank != 0:
	case lost&truncated != 0:
		h.stats.Whole++
	case lost&wrongSum != 0:
		h.stats.Checksum++
	}
}
