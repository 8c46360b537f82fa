// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// choose passes the packets, and exchanges them for better copies.
func (x *holdBatch) choose(b *capture.Batch) {
	h, blocks := x.hold, b.Blocks
	for from := 0; from < len(b.Frames); from += 64 {
		to := min(from+64, len(b.Frames))
		if all := ^uint64(0) >> (64 - (to - from)); h.idle && x.begins(from/64)&all == 0 {
			h.skip(x.verdicts.times[from:to])
		} else {
			blocks = x.chooseWord(b, blocks, from, to, all)
		}
	}
	h.passBlocks(blocks, len(b.Frames))
}

// chooseWord chooses among the packets from to to-1, whose bits are those of a word. It
// decides the packets of a run that hold.pass takes after it, since nothing is settled
// meanwhile. It returns the blocks that are left.
func (x *holdBatch) chooseWord(b *capture.Batch, blocks []capture.Block, from, to int, all uint64) []capture.Block {
	h, times, open := x.hold, x.verdicts.times, x.undecided(from/64)&all
	h.candidates.load(x.verdicts.digests[from:to], open)
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
func (x *holdBatch) begins(w int) (begin uint64) {
	h, v := x.hold, &x.verdicts
	if !x.ranksAll() {
		if h.homes != nil {
			begin = ^v.copies[w] &^ x.home[w]
		}
		if v.fixed != nil {
			begin &^= v.fixed[w]
		}
		return begin
	}
	for firsts := ^v.copies[w] & (^uint64(0) >> (64 - min(len(v.times)-w*64, 64))); firsts != 0; firsts &= firsts - 1 {
		if i := w*64 + bits.TrailingZeros64(firsts); x.quality(i) > 0 && v.times[i] != calendar.NoTime {
			begin |= firsts & -firsts
		}
	}
	return begin
}

// ranksAll reports whether packets from home may differ in quality.
func (x *holdBatch) ranksAll() bool {
	v := &x.verdicts
	return len(v.ranks) > 0 || x.hold.cfg.Intact || v.unfit.some || len(v.paired) > 0
}

// undecided returns the packets of a word that decide has to look at. These are firsts from
// elsewhere, and copies from home. Where ranksAll, they are all packets. A first from
// home must end the choice between earlier packets that it equals, unless it is too late for
// them.
func (x *holdBatch) undecided(w int) uint64 {
	h, v := x.hold, &x.verdicts
	if x.ranksAll() {
		return ^uint64(0)
	}
	open := v.copies[w]
	if h.homes != nil {
		open ^= ^x.home[w]
	}
	if v.fixed != nil {
		open &^= v.fixed[w]
	}
	if h.cfg.Window == 0 {
		open |= ^v.copies[w]
	}
	return open
}

// decide handles a packet: the first of its group waits for a better copy, and a copy may
// be one.
func (x *holdBatch) decide(b *capture.Batch, i int) {
	h, v := x.hold, &x.verdicts
	quality, fixed, first := x.quality(i), isSet(v.fixed, i), !isSet(v.copies, i)
	number := x.own.first + uint64(i)
	best := quality == 0 || fixed || v.times[i] == calendar.NoTime
	switch {
	case first && best:
		h.candidates.forget(v.digests[i][1])
	case first:
		setBit(x.own.waiting, i)
		if h.candidates.enter(v.digests[i][1], number, quality, h.settled) {
			h.stats.Early++
		}
	case !fixed && !x.improve(b, i, quality) && isSet(v.paired, i):
		x.own.drop[i/64] &^= 1 << (uint(i) % 64) // the unfit packet may have been written
		h.cfg.stays(x.detector, b, i)
	}
}

// improve keeps copy i in the place of the packet of its group that is kept, if that is not
// as good and not settled. It reports whether it has.
func (x *holdBatch) improve(b *capture.Batch, i int, quality uint64) bool {
	h, v := x.hold, &x.verdicts
	c := h.candidates.find(v.digests[i][1])
	if c == nil || quality >= c.quality() || c.number() < h.settled || v.times[i] == calendar.NoTime {
		return false
	}
	from := x.own
	if c.number() < from.first {
		from = h.holder(c.number())
	}
	at := int(c.number() - from.first)
	if distance(calendar.Usable(from.frames[at].Time), v.times[i]) > h.within {
		return false
	}
	h.count(c.quality(), quality)
	from.drop[at/64] |= 1 << (uint(at) % 64)
	x.own.drop[i/64] &^= 1 << (i % 64)
	if h.cfg.mark != nil {
		h.notePlace(x.own, c.number(), x.own.first+uint64(i))
	}
	if quality == 0 || h.cfg.mark == nil { // otherwise its comment may change
		from.waiting[at/64] &^= 1 << (at % 64)
	}
	if c.set(x.own.first+uint64(i), quality); quality == 0 {
		c.value = 0 // no copy is better
	} else {
		setBit(x.own.waiting, i)
	}
	if h.cfg.swapped != nil {
		h.cfg.swapped(b, &from.frames[at], &x.own.frames[i])
	}
	return true
}

// distance returns the absolute difference of two times.
func distance(a, b int64) uint64 {
	hi, borrow := bits.Sub64(uint64(a)^1<<63, uint64(b)^1<<63, 0)
	if borrow != 0 {
		return -hi
	}
	return hi
}
