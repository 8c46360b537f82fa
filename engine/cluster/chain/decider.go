// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// maxPending bounds the sets on their way round a chain. A chain with more is broken.
	maxPending = 1024
	// maxRecent bounds the positions that they set: their memory is some 50 MB.
	maxRecent = 1 << 20
)

// decider is the state of a chain's last link: it decides which elements are duplicates
// by the answers of all links, in the order in which requests reach it.
//
// Elements that it takes for new are on their way to the links for a while. Meanwhile
// recent remembers them, so requests that were tested before are decided as if the
// elements had been set at once. A set that has come back passed all links before any
// request that comes now, so it is forgotten.
type decider struct {
	filter  string
	window  uint64
	equal   int
	atLeast int

	now     uint64            // the latest unit, or the number of deliveries
	recent  map[uint64]uint64 // by position, the zeroAt that is being set
	held    map[uint64]uint64 // by element, the zeroAt that waits for Link.Settle
	waiting int               // requests with elements that wait
	pending []pendingSet      // in the order in which they were sent
	sent    uint64            // number of the last message sent
	values  []uint64
}

type pendingSet struct {
	Number   uint64
	Message  []byte
	settings []setting
}

func newDecider(s Shape) *decider {
	return &decider{filter: s.Filter, window: s.Window(), equal: s.Equal, atLeast: s.AtLeast, recent: map[uint64]uint64{}, held: map[uint64]uint64{}}
}

// judge decides about an element of a unit, by the values that are known. For a new element
// zeroAt is the value that its bits or timers are set to, or 0 if the element is too old.
func (d *decider) judge(values []uint64, unit uint64) (seen bool, zeroAt uint64) {
	d.advance(values, unit)
	if len(values) >= d.atLeast && d.agree(values) {
		return true, 0
	}
	return false, d.deliver(unit)
}

// advance makes a unit the present, or a later unit that values show.
func (d *decider) advance(values []uint64, unit uint64) {
	if d.filter == Timers {
		d.now = max(d.now, unit)
	}
	if d.window > 0 {
		for _, v := range values {
			d.now = max(d.now, v-min(v, d.window)) // more time has passed if another link decided before
		}
	}
}

// deliver returns the value that the bits or timers of a delivered element are set to, or 0 if
// it is too old.
func (d *decider) deliver(unit uint64) (zeroAt uint64) {
	switch d.filter {
	case Events:
		zeroAt = d.now + d.window
		d.now++
	case Timers:
		if zeroAt = unit + d.window; zeroAt <= d.now {
			zeroAt = 0
		}
	default:
		zeroAt = 1
	}
	return zeroAt
}

// agree reports whether all values say that the element was there.
func (d *decider) agree(values []uint64) bool {
	if d.equal > 1 && len(values) > 0 {
		return layout.EqualGroup(values, d.now) >= min(d.equal, len(values))
	}
	for _, v := range values {
		if v <= d.now && (v == 0 || d.window > 0) {
			return false
		}
	}
	return true
}

// at returns the value of a position: found by links, or being set.
func (d *decider) at(pos, found uint64) uint64 {
	if len(d.recent) == 0 {
		return found
	}
	return max(found, d.recent[pos])
}

// remember remembers that positions are being set.
func (d *decider) remember(positions []uint64, zeroAt uint64) {
	for _, p := range positions {
		d.recent[p] = max(d.recent[p], zeroAt)
	}
}

// full reports whether no more sets may be under way.
func (d *decider) full() bool {
	return len(d.pending)+d.waiting >= maxPending || len(d.recent) >= maxRecent || len(d.held) >= maxRecent
}

// send returns the message that sets elements, which goes round the chain.
func (d *decider) send(all []setting) []byte {
	d.sent++
	m := newSet(d.sent, d.now, all)
	d.pending = append(d.pending, pendingSet{d.sent, m.all, all})
	return m.all
}

// back takes a set that has been all the way round. Sets before it did not come back:
// they are returned, to be sent again.
func (d *decider) back(number uint64, p *places) (again [][]byte) {
	at := -1
	for i := range d.pending {
		if d.pending[i].Number == number {
			at = i
		}
	}
	if at < 0 {
		return nil // it has come back before
	}
	done := d.pending[at]
	lost := d.pending[:at:at]
	d.pending = append(d.pending[at+1:], lost...)
	for _, l := range lost {
		again = append(again, l.Message)
	}
	d.forget(done.settings, p)
	return again
}

// forget removes from recent the elements that the links have set.
func (d *decider) forget(all []setting, p *places) {
	pos := make([]uint64, p.k)
	for _, s := range all {
		p.of(pos, s.element)
		for _, at := range pos {
			if d.recent[at] == s.zeroAt {
				delete(d.recent, at)
			}
		}
	}
}
