// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// packetGroup has packets of a batch that are read one after the other, a group at most.
type packetGroup struct {
	batch  *Batch
	first  int // of them
	n      int
	from   int          // the first of them that is not matched yet
	places [group]int64 // by the corrected clock
	wild   uint64       // bits of the packets whose times differ from their places
	times  [group]int64
	again  uint64 // bits of the packets that equal an earlier packet of the same side
}

// placeGroup takes the next packets of a side that are read before end, by the clock of A, at most most: the
// next group. It counts them, and returns false if there are none.
func (c *Comparer) placeGroup(i int, end int64, most int) bool {
	s, g, offset := &c.sides[i], &c.groups[i], int64(0)
	if g.n, g.from, g.wild = 0, 0, 0; !c.peek(i) {
		return false
	}
	if i == sideB {
		offset = c.match.offset
	}
	end += offset
	for g.batch, g.first = *s.queue.At(0), s.at; g.n < most && s.placeNext() && s.next < end; s.placeRun(g, most, end) {
		if g.places[g.n] = s.next; s.time != s.next {
			g.wild |= 1 << g.n
			g.times[g.n] = s.time
		}
		g.n++
		s.at++
		s.hasNext = false
	}
	if g.n == 0 {
		return false
	}
	places := g.places[:g.n]
	g.again = s.recent.before(g.batch.digests[g.first:g.first+g.n], places, c.cfg.Window) // the offset may go back
	for j := range places {
		places[j] -= offset
	}
	s.counts.Repeats += uint64(bits.OnesCount64(g.again))
	s.counts.Packets += uint64(g.n)
	s.lastRead = g.places[g.n-1]
	for j, proto := range g.batch.protocols[g.first : g.first+g.n] {
		s.protocols[proto]++
		if proto != headers.NonIP {
			continue
		}
		if what, ok := c.prepare.decoder.Unopened(&g.batch.packets, g.first+j); ok {
			s.unopened.Count(what, 1)
		}
	}
	return true
}

// placeRun is placeGroup for packets of the open batch whose times do not go back, as of most: their
// times are their places. It stops at any other packet.
func (s *side) placeRun(g *packetGroup, most int, end int64) {
	places, frames, latest := g.places[g.n:most], g.batch.packets.Frames[s.at:], s.latest
	end = min(end, calendar.Farthest)
	n := 0
	for n < len(places) && n < len(frames) {
		t := frames[n].Time
		if uint64(t-latest) >= uint64(time.Second) || t >= end { // NoTime is not within a second, either
			break
		}
		places[n], latest = t, t
		n++
	}
	if n > 0 {
		s.clock.Pass(latest)
		s.at, s.latest, g.n = s.at+n, latest, g.n+n
	}
}
