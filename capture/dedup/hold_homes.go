// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// packetRun is packets from one number to before another.
type packetRun struct{ from, to int }

// findHomes finds the packets that come from home.
func (x *holdBatch) findHomes(b *capture.Batch, p *BatchDetector) {
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
	h.homes.atHome(x.home, homeSightings{
		Conversation: x.seen.Conversation, Fragment: x.seen.Fragment, Point: x.seen.Point, Times: p.times, Copies: p.copies,
	})
	switch point, lone := h.homes.lonePoint(); {
	case !lone:
		h.lone.Store(nil)
	case h.lone.Load() == nil:
		h.lone.Store(&point)
	}
}

// stayLone reports whether all first sightings come from the one point again. Packets
// without a time are at home everywhere.
func (x *holdBatch) stayLone() bool {
	for w, home := range x.home {
		all := ^uint64(0) >> (64 - min(len(x.verdicts.times)-w*64, 64))
		for away := all &^ home; away != 0; away &= away - 1 {
			if x.verdicts.times[w*64+bits.TrailingZeros64(away)] == calendar.NoTime {
				x.home[w] |= away & -away
			}
		}
		if all&^x.home[w]&^x.verdicts.copies[w] != 0 {
			return false
		}
	}
	return true
}
