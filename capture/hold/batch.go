// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Verdicts are the verdicts on the packets of a batch, and what the choice between equal packets
// goes by. Element i of a slice, and bit i of a bitmap, belong to packet i.
type Verdicts struct {
	Digests []digest.Digest
	Times   []int64  // in nanoseconds since 1970, or calendar.NoTime
	Drop    []uint64 // packets that are removed: copies of earlier packets
	Copies  []uint64 // packets that are no first sightings: Drop, and what Fixed keeps
	Fixed   []uint64 // packets that are neither exchanged nor taken in exchange
	Paired  []uint64 // copies of an unfit packet, which stay if they cannot take its place; empty for none
	Unfit   []uint64 // packets that are worse than all others; empty for none
	Ranks   []uint8  // how good packets are, 0 being best; empty is 0 for all
	// Integrity is empty where it does not count.
	Integrity []identity.Integrity
}

// Batch takes one batch at a time through a Hold. A pipeline needs a Batch for each batch in flight.
type Batch struct {
	hold      *Hold
	stays     func(b *capture.Batch, i int)
	sightings *traits.SightingReader // nil without Config.Flow
	seen      traits.Sightings
	unread    []packetRun // of seen, where home has the packets of Hold.lone
	home      []uint64
	verdicts  Verdicts
	own       *held
	kept      bool   // own waits, or is marked behind a batch that waits
	decided   uint64 // as of Judge
}

// packetRun is packets from one number to before another.
type packetRun struct{ from, to int }

// homeFields make two homes different. TEIDs do not: both directions of a conversation have
// their own. Nor do the files of a rotated capture: a conversation goes on in the next file.
const homeFields = traits.PointVLAN | traits.PointVNI | traits.PointOrigin

// NewBatch makes a Batch. stays gets the number of each packet of Verdicts.Paired that stays. Calls
// come from Judge.
func (h *Hold) NewBatch(stays func(b *capture.Batch, i int)) *Batch {
	x := &Batch{hold: h, stays: stays}
	if h.homes != nil {
		cfg := h.stream.Sightings
		cfg.Fields, cfg.Groups = homeFields, traits.Groups{}
		x.sightings = traits.NewSightingReader(cfg)
	}
	return x
}

// Reset makes room for a batch of n packets, which Prepare then takes run by run.
func (x *Batch) Reset(n int) {
	if x.sightings == nil {
		return
	}
	s := &x.seen
	s.Conversation, s.Fragment, s.Point = capture.Resize(s.Conversation, n), capture.Resize(s.Fragment, n), capture.Resize(s.Point, n)
	x.home = capture.Resize(x.home, (n+63)/64)
	x.unread = x.unread[:0]
}

// Prepare reads the conversations and points of the packets from to to-1 of a batch, whose
// identities are m. Meanwhile, others may prepare theirs.
func (x *Batch) Prepare(b *capture.Batch, m *identity.Messages, from, to int) {
	if x.sightings == nil {
		return
	}
	if lone := x.hold.lone.Load(); lone != nil && x.sightings.At(x.home[from/64:], *lone, b, from, m) {
		x.unread = append(x.unread, packetRun{from, to})
		return
	}
	x.sightings.ReadIdentities(x.seen.Run(from, to), b, from, m)
}

// Judge takes the verdicts on a prepared batch, and changes some of them for Write only. It keeps v
// until the next call. Calls come in the order of the stream.
func (x *Batch) Judge(b *capture.Batch, v Verdicts) {
	x.verdicts = v
	h := x.hold
	x.kept = h.stream.Mark != nil && h.open.Len() > 0 // open packets may lead to packets of b
	h.arrive()
	x.accept(b)
	if h.homes != nil {
		x.findHomes(b)
	}
	x.choose(b)
	h.advance()
	x.decided = h.decided
	if x.kept = x.kept || x.decided < x.own.end; x.kept {
		x.keep(b)
	}
}

// Final returns the verdicts with which Write will pass on the judged batch. It reports whether
// they are final, and the batch is passed on as it is.
func (x *Batch) Final() (drop []uint64, final bool) { return x.own.drop, !x.kept }

// findHomes finds the packets that come from home.
func (x *Batch) findHomes(b *capture.Batch) {
	h, n := x.hold, len(b.Frames)
	unread := 0
	for _, run := range x.unread {
		unread += run.to - run.from
	}
	if _, lone := h.homes.lonePoint(); lone && unread == n && x.stayLone() {
		return
	}
	for _, run := range x.unread {
		x.seen.Run(run.from, run.to).Set(x.sightings.Read(b, run.from, run.to-run.from))
	}
	h.homes.atHome(x.home, homeSightings{Sightings: x.seen, Times: x.verdicts.Times, Copies: x.verdicts.Copies})
	switch point, lone := h.homes.lonePoint(); {
	case !lone:
		h.lone.Store(nil)
	case h.lone.Load() == nil:
		h.lone.Store(&point)
	}
}

// stayLone reports whether all first sightings still come from Hold.lone. Packets without a time are
// at home everywhere.
func (x *Batch) stayLone() bool {
	times := x.verdicts.Times
	for w, home := range x.home {
		all := ^uint64(0) >> (64 - min(len(times)-w*64, 64))
		for away := all &^ home; away != 0; away &= away - 1 {
			if times[w*64+bits.TrailingZeros64(away)] == calendar.NoTime {
				x.home[w] |= away & -away
			}
		}
		if all&^x.home[w]&^x.verdicts.Copies[w] != 0 {
			return false
		}
	}
	return true
}
