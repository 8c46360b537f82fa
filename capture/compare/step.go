// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// left returns how many packets of the open batch are not placed in a group yet.
func (s *side) left() int { return len((*s.queue.At(0)).packets.Frames) - s.at }

// stepWindow is the least window in which recent notices all repeats within a group, whose times lie
// within a part of the window, in spite of its ticks.
const stepWindow = 4 << tick

// step reads a group of each side, of packets before end, and matches the first packets of both one to one, as
// long as they are equal and nothing waits: where captures have the same packets, few need a record. It
// returns whether all were matched.
func (c *Comparer) step(end int64) bool {
	m, a, b := c.match, &c.groups[sideA], &c.groups[sideB]
	if m.queues[sideA].len()+m.queues[sideB].len() > 0 || c.cfg.Window < stepWindow || !c.peek(sideA) || !c.peek(sideB) {
		return false
	}
	most := min(group, c.sides[sideA].left(), c.sides[sideB].left())
	if !c.placeGroup(sideA, end, most) || !c.placeGroup(sideB, end, a.n) {
		return false
	}
	c.pairStep(min(a.n, b.n, bits.TrailingZeros64(a.wild|b.wild)))
	return a.from == a.n && b.from == b.n
}

// pairStep matches the first packets of both groups, at most most.
func (c *Comparer) pairStep(most int) {
	m, a, b := c.match, &c.groups[sideA], &c.groups[sideB]
	var all [group]pair
	var places [group]talkPlace
	ofA, ofB, pairs, n := a.batch.digests[a.first:a.first+most], b.batch.digests[b.first:b.first+most], 0, 0
	for ; n < most && ofA[n] == ofB[n] && calendar.Distance(a.places[n], b.places[n]) <= m.window; n++ {
		p := pair{a.places[n], b.places[n] + m.offset - a.places[n]}
		if (a.again|b.again)>>n&1 != 0 {
			c.doubtful.add(p)
			continue
		}
		all[pairs] = p
		pairs++
	}
	c.talks.count(places[:n], a.batch, a.first)
	for j, at := range places[:n] {
		c.talks.order(at, m.queues[sideA].next+uint64(j))
	}
	c.meet(all[:pairs])
	c.both += uint64(n)
	for i := range c.sides {
		c.groups[i].from = n
		m.queues[i].skip(n)
		if c.written != nil {
			for range n {
				c.mark(i, true)
			}
		}
	}
}
