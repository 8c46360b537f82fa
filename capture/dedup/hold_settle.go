package dedup

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// maxSlack is how far times may step back for packets to wait so much longer. Several
	// interfaces step back so in captures of dumpcap, by up to a quarter of a second.
	maxSlack = uint64(time.Second)
	// partPackets and partBytes bound a part. What waits is known to a part.
	partPackets = 256
	partBytes   = 1 << 20
	// partShare is the share of the hold that a part may span, so that few packets wait
	// for many.
	partShare = 2
)

// part is consecutive packets that are settled together, behind those of the part before.
// Where it ends depends on the packets alone, and not on batches.
type part struct {
	end   uint64 // number after its last packet
	clock int64  // at its end
	bytes int
}

// lastPart is the part that the next packet belongs to.
type lastPart struct {
	first uint64 // number of its first packet
	from  int64  // the clock at its start, or NoTime
	bytes int
	timed bool // it has a packet with a time
}

// pass takes note of the next packet.
func (h *Hold) pass(time int64, bytes int) {
	if time != calendar.NoTime && h.cfg.Clock == nil {
		if time > h.clock {
			if distance(time, h.part.from) > h.within/partShare {
				h.turn(time)
			}
			h.clock = time
		} else if distance(h.clock, time) > h.slack {
			h.stepBack(time)
		}
		h.part.timed = true
	}
	h.next++
	h.part.bytes += bytes
	if h.next-h.part.first >= partPackets || h.part.bytes >= partBytes {
		h.closePart()
	}
}

// passAll is pass for several packets, of which none ends a part or steps back too far. If
// one does, or has no time, it returns false and has done nothing.
func (h *Hold) passAll(times []int64, frames []capture.Frame) bool {
	clock, back, bytes := h.clock, uint64(0), len(frames)*frameBytes
	times = times[:len(frames)]
	for i := range frames {
		clock = max(clock, times[i])
		back = max(back, uint64(clock)-uint64(times[i])) // NoTime is very far back
		bytes += int(frames[i].RecordLen)
	}
	p := &h.part
	if h.cfg.Clock == nil && (p.from == calendar.NoTime || back > h.slack || distance(clock, p.from) > h.within/partShare) ||
		h.next+uint64(len(frames))-p.first >= partPackets || p.bytes+bytes >= partBytes {
		return false
	}
	h.clock, p.timed = clock, true
	h.next += uint64(len(frames))
	p.bytes += bytes
	return true
}

// passBlock takes note of a block.
func (h *Hold) passBlock(bytes int) {
	if h.part.bytes += bytes; h.part.bytes >= partBytes {
		h.closePart()
	}
}

// turn begins a new part with the next packet, at whose time the last one has lasted too
// long.
func (h *Hold) turn(time int64) {
	if distance(time, h.clock) > h.within+h.slack {
		h.settleAll()
	} else if h.next > h.part.first {
		h.endPart()
	}
	h.part.from, h.clock = time, time
	h.settle()
}

// stepBack handles a time before the clock.
func (h *Hold) stepBack(time int64) {
	if step := distance(h.clock, time); step <= maxSlack {
		h.slack = step
		return
	}
	h.settleAll()
	h.clock, h.part.from = time, time
}

// closePart ends a part, and settles what has waited long enough.
func (h *Hold) closePart() {
	if h.cfg.Clock == nil && !h.part.timed && h.next > h.part.first {
		h.settleAll() // the clock may stand still for long
		return
	}
	h.endPart()
	h.settle()
}

// endPart adds the part to those that wait, and begins another.
func (h *Hold) endPart() {
	h.parts.push(part{end: h.next, clock: h.clock, bytes: h.part.bytes})
	h.bytes += h.part.bytes
	h.part = lastPart{first: h.next, from: h.clock}
}

// settle settles the parts that have waited long enough, and early those for which there
// is no memory.
func (h *Hold) settle() {
	for h.parts.len() > 0 && h.due(h.parts.front()) {
		p := h.parts.front()
		h.settled = max(h.settled, p.end)
		h.bytes -= p.bytes
		h.parts.pop()
	}
	h.stats.HeldBytes = max(h.stats.HeldBytes, h.bytes)
}

// due reports whether a part is to be settled.
func (h *Hold) due(p *part) bool {
	switch {
	case p.end <= h.settled, h.cfg.Clock == nil && distance(h.clock, p.clock) > h.within+h.slack:
		return true
	case h.bytes > h.limit:
		h.stats.Early += p.end - h.settled
		return true
	}
	return false
}

// settleAll settles all packets before the next.
func (h *Hold) settleAll() {
	h.stats.HeldBytes = max(h.stats.HeldBytes, h.bytes+h.part.bytes)
	for h.parts.len() > 0 {
		h.parts.pop()
	}
	h.settled, h.bytes = h.next, 0
	h.part = lastPart{first: h.next, from: h.clock}
}
