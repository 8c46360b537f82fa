// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// partPackets and partBytes bound a part. Waiting packets are tracked by part.
	partPackets = 256
	partBytes   = 1 << 20
	// partShare is the share of the hold that a part may span, so that few packets wait
	// for many.
	partShare = 2
)

// part is consecutive packets that are settled together, behind those of the part before. The
// first part begins with a packet that may be exchanged. Without such a packet there are no
// parts. The end of a part depends only on the packets, not on batches.
type part struct {
	end   uint64 // number after its last packet
	clock int64  // at its end
	sets  int    // of the clock at its end, and wary
	wary  int
	bytes int
}

// lastPart is the part that the next packet belongs to.
type lastPart struct {
	first uint64 // number of its first packet
	from  int64  // the clock at its start, or NoTime
	bytes int
	timed bool // it has a packet with a time that is believed
}

// skip notes the next packets. Neither they nor packets before them may be exchanged.
func (h *Hold) skip(times []int64) {
	h.next += uint64(len(times))
	if h.cfg.Clock == nil {
		h.clock.skip(times)
	}
}

// begin begins a part, before a packet that may be exchanged.
func (h *Hold) begin() {
	h.idle, h.settled = false, h.next
	h.part = lastPart{first: h.next, from: h.clock.now}
}

// pass takes note of the next packets, at most 64, and returns their number. It stops where a part is
// full, where no packet may be exchanged any more, and before a packet that would settle others while
// a bit in open is set for an earlier packet of the run. So it returns 0 only where nothing waits.
func (h *Hold) pass(times []int64, frames []capture.Frame, open uint64) (n int) {
	p, clock, bytes, first := &h.part, h.clock.now, h.part.bytes, h.next
	frames = frames[:min(len(times), int(p.first+partPackets-first))]
run:
	for ; n < len(frames) && bytes < partBytes; n++ {
		switch time := times[n]; {
		case h.cfg.Clock != nil || time == calendar.NoTime:
		case !h.clock.doubts && (time > clock && uint64(time)-uint64(p.from) <= h.within/partShare || time <= clock && uint64(clock)-uint64(time) <= h.clock.slack):
			clock, p.timed = max(clock, time), true
		case open&^(^uint64(0)<<n) != 0:
			break run
		default:
			h.clock.now, h.next, p.bytes = clock, first+uint64(n), bytes
			if h.jump(time); h.idle {
				return n
			}
			clock, bytes = h.clock.now, p.bytes
		}
		bytes += int(max(frames[n].RecordLen, frames[n].CapLen)) + frameBytes
	}
	h.clock.now, h.next, p.bytes = clock, first+uint64(n), bytes
	return n
}

// passBlocks takes note of the blocks before frame i, and returns those after it.
func (h *Hold) passBlocks(blocks []capture.Block, i int) []capture.Block {
	for len(blocks) > 0 && int(blocks[0].Before) <= i {
		if !h.idle {
			h.part.bytes += int(blocks[0].Len)
			h.closeFull()
		}
		blocks = blocks[1:]
	}
	return blocks
}

// full reports whether the next packet begins a new part.
func (h *Hold) full() bool {
	return h.next-h.part.first >= partPackets || h.part.bytes >= partBytes
}

func (h *Hold) closeFull() {
	if !h.idle && h.full() {
		h.closePart()
	}
}

// jump handles the time of the next packet, at which the part has lasted too long, or which
// the clock has to judge.
func (h *Hold) jump(time int64) {
	before := h.clock.now
	verdict := h.clock.observe(time, h.next)
	p := &h.part
	if verdict == calendar.Quarantined {
		if h.clock.doubted == h.next && p.timed {
			h.endPart(before)
			h.settle()
		}
		return
	}
	if verdict == calendar.Believed && (time <= before || uint64(time)-uint64(p.from) <= h.within/partShare) {
		p.timed = true
		return
	}
	if verdict == calendar.Believed && uint64(time)-uint64(before) > h.within+h.clock.slack {
		h.settleAll()
		return
	}
	if h.next > p.first {
		h.endPart(before)
	}
	if verdict == calendar.Adopted {
		h.redate()
	}
	p.from, p.timed = time, true
	h.settle()
}

// redate gives the time of the clock to the parts since the first of the outliers that set it: these
// parts have not waited yet.
func (h *Hold) redate() {
	for i := h.parts.Len() - 1; i >= 0 && h.parts.At(i).end > h.clock.doubted; i-- {
		p := h.parts.At(i)
		p.clock, p.sets = h.clock.now, h.clock.sets
	}
}

// closePart ends a part, and settles packets that have waited long enough.
func (h *Hold) closePart() {
	if h.cfg.Clock == nil && !h.part.timed && h.next > h.part.first {
		h.settleAll() // the clock may stand still for long
		return
	}
	h.endPart(h.clock.now)
	h.settle()
}

// endPart appends the part, with the clock at its end, to the waiting parts, and begins the next.
func (h *Hold) endPart(clock int64) {
	h.parts.Push(part{end: h.next, clock: clock, sets: h.clock.sets, wary: h.clock.wary, bytes: h.part.bytes})
	h.bytes += h.part.bytes
	h.stats.HeldBytes = max(h.stats.HeldBytes, h.bytes)
	h.part = lastPart{first: h.next, from: h.clock.now}
}

// settle settles the parts that have waited long enough, and further parts, early, while memory is
// short. Where no packet may be exchanged any more, it settles all.
func (h *Hold) settle() {
	if h.advance(); h.decided == h.next {
		h.settleAll()
		return
	}
	for h.parts.Len() > 0 && h.due(h.parts.Front()) {
		p := h.parts.Front()
		h.settled = max(h.settled, p.end)
		h.bytes -= p.bytes
		h.parts.Pop()
	}
}

// due reports whether a part is to be settled.
func (h *Hold) due(p *part) bool {
	switch {
	case p.end <= max(h.settled, h.decided), h.cfg.Clock == nil && h.clock.isPast(p):
		return true
	case h.bytes > h.limit:
		h.stats.Early += p.end - max(h.settled, h.decided)
		return true
	}
	return false
}

// settleAll settles all packets before the next.
func (h *Hold) settleAll() {
	h.stats.HeldBytes = max(h.stats.HeldBytes, h.bytes+h.part.bytes)
	h.parts.Clear()
	h.settled, h.bytes, h.idle = h.next, 0, true
	h.part = lastPart{first: h.next, from: h.clock.now}
}
