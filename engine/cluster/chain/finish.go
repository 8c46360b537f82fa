// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"slices"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// direct decides here: this is the only link.
func (l *Link) direct(s *site, a *Answer, r *hubclient.Request) Result {
	a.Status = hubclient.OK
	a.Request = r
	if before, ok := s.Replies.Find(r); ok {
		s.Replayed++
		a.Copies, a.Again = before, true
		return Result{Answer: a}
	}
	if l.hold && l.decide.full() {
		a.Status, a.Request = hubclient.Overloaded, nil
		return Result{Answer: a}
	}
	l.lost = false // no other link knows more
	var held []Held
	d, judged := l.decide, l.store.timed || l.hold
	a.Copies = make([]byte, (len(r.Digests)+7)/8)
	l.tests += uint64(len(r.Digests))
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		l.touched += l.store.touch(pos, 0)
		for i := 0; i < len(pos); i += l.places.k {
			e, all, seen := from+i/l.places.k, pos[i:i+l.places.k], true
			if judged {
				d.values = d.values[:0]
				l.tickFor(r, e)
				from := l.best(all)
				for _, p := range all {
					d.values = append(d.values, from.get(p))
				}
				var zeroAt uint64
				if seen, zeroAt = l.judge(r, e); zeroAt > 0 && l.hold {
					held = append(held, d.hold(e, r.Digests[e], zeroAt))
				} else if zeroAt > 0 {
					l.put(all, zeroAt)
				}
			} else {
				seen, _ = l.take(all)
			}
			if seen {
				a.Copies[e/8] |= 1 << (e % 8)
				s.Copies++
				l.remain(a, r, e)
			}
		}
	})
	l.tick(d.now)
	s.Replies.Keep(r, a.Copies)
	return Result{Answer: a, Held: d.holds(held)}
}

// judge decides about an element of a request, whose values are in the decider. An
// element that waits for Settle counts as seen.
func (l *Link) judge(r *hubclient.Request, e int) (seen bool, zeroAt uint64) {
	if _, waits := l.decide.held[r.Digests[e]]; waits {
		return true, 0
	}
	return l.decide.judge(l.decide.values, l.unitOf(r, e))
}

// finish answers a request as the last link.
func (l *Link) finish(m *message, s *site, r *hubclient.Request) Result {
	a := &Answer{Site: s.Name, Reply: m.reply, Status: hubclient.OK, Seq: r.Seq, N: len(r.Digests), Fence: m.number, Request: r}
	result := Result{Answer: a, First: l.again()}
	if before, ok := s.Replies.Find(r); ok {
		a.Copies, a.Again = before, true
		return result
	}
	if m.again && l.lost { // its elements may have been decided and set before: they would be copies of themselves
		a.Status, a.Request = hubclient.Stale, nil
		return result
	}
	if l.decide.full() {
		a.Status, a.Request = hubclient.Overloaded, nil
		return result
	}
	asker := slice.AskerOf(m.reply)
	if s.Replies.Askers.Note(asker, r.Seq) { // which the first link has not known, if it is lost
		a.Status, a.Request = hubclient.Stale, nil
		return result
	}
	lost := m.lostLinks()
	all := len(lost) > l.last
	if !all && l.lost && slices.Contains(lost, 0) && s.Replies.Askers.Doubtful(asker, r.Seq) {
		// Neither link that knows requests knows this request, and other links may: its elements would
		// be copies of themselves. A refusal would make the site stop asking for a while. The site
		// delivers them, so they are set, as test-and-set has done.
		if m.kind == kindTest {
			if all := l.deliverAll(m, r, lost); len(all) > 0 {
				result.First = append(result.First, l.decide.send(all))
			}
		}
		a.Copies, a.Unchecked, a.Request = make([]byte, (len(r.Digests)+7)/8), len(r.Digests), nil
		return result
	}
	if m.kind == kindTAS {
		a.Copies = l.verdicts(m, r, lost, all)
	} else {
		var news []setting
		news, result.Held = l.judgeAll(a, m, r, lost, all)
		if len(news) > 0 {
			result.First = append(result.First, l.decide.send(news))
		}
	}
	if all {
		result.First = append(result.First, newMessage(kindFresh, 0, "", "", nil, 0).all)
	}
	for i := range r.Digests {
		s.Copies += uint64(a.Copies[i/8] >> (i % 8) & 1)
	}
	s.Replies.Keep(r, a.Copies)
	return result
}

// again returns the sets that were on their way when the link was saved.
func (l *Link) again() (all [][]byte) {
	if l.resend {
		l.resend = false
		for _, p := range l.decide.pending {
			all = append(all, p.Message)
		}
	}
	return all
}

// verdicts returns which elements are duplicates by test-and-set. Elements with too few
// answers are new, and all are if no link knows anything.
func (l *Link) verdicts(m *message, r *hubclient.Request, lost []int, all bool) []byte {
	if all {
		return make([]byte, len(m.state))
	}
	if len(lost) > 0 {
		l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
			for i := 0; i < len(pos); i += l.places.k {
				if e := from + i/l.places.k; l.answered(pos[i:i+l.places.k], lost) < l.shape.AtLeast {
					m.state[e/8] &^= 1 << (e % 8)
				}
			}
		})
	}
	return m.state
}

// answered returns how many of an element's positions are in links that are not lost.
func (l *Link) answered(pos []uint64, lost []int) (n int) {
	for _, p := range pos {
		if !slices.Contains(lost, int(p/l.places.size)) {
			n++
		}
	}
	return n
}

// judgeAll answers which elements are duplicates by first-test-then-set, and returns the settings
// of the new elements.
func (l *Link) judgeAll(a *Answer, m *message, r *hubclient.Request, lost []int, all bool) (news []setting, held []Held) {
	d, k := l.decide, l.places.k
	a.Copies = make([]byte, (len(r.Digests)+7)/8)
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		for i := 0; i < len(pos); i += k {
			e, mine := from+i/k, pos[i:i+k]
			l.collect(m, e, mine, lost)
			if all {
				d.values = append(d.values, 0) // nothing is known of any element
			}
			seen, zeroAt := l.judge(r, e)
			if seen {
				a.Copies[e/8] |= 1 << (e % 8)
				l.remain(a, r, e)
			} else if zeroAt > 0 && l.hold {
				held = append(held, d.hold(e, r.Digests[e], zeroAt))
			} else if zeroAt > 0 {
				d.remember(mine, zeroAt)
				news = append(news, setting{r.Digests[e], zeroAt})
			}
		}
	})
	return news, d.holds(held)
}

// collect gives the decider the values of an element that links have found.
func (l *Link) collect(m *message, e int, pos []uint64, lost []int) {
	d := l.decide
	d.values = d.values[:0]
	for j, p := range pos {
		if len(lost) == 0 || !slices.Contains(lost, int(p/l.places.size)) {
			d.values = append(d.values, d.at(p, m.value(e*l.places.k+j, l.store.timed)))
		}
	}
}

// deliverAll returns the settings of all elements of a request, which pass whatever is known of
// them.
func (l *Link) deliverAll(m *message, r *hubclient.Request, lost []int) (all []setting) {
	d, k := l.decide, l.places.k
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		for i := 0; i < len(pos); i += k {
			e, mine := from+i/k, pos[i:i+k]
			l.collect(m, e, mine, lost)
			unit := l.unitOf(r, e)
			d.advance(d.values, unit)
			if zeroAt := d.deliver(unit); zeroAt > 0 {
				d.remember(mine, zeroAt)
				all = append(all, setting{r.Digests[e], zeroAt})
			}
		}
	})
	return all
}

// ring takes a message that goes round the chain: elements to set, or a new beginning.
// The last link ends its round.
func (l *Link) ring(m *message) (Result, error) {
	if m.kind == kindFresh {
		l.lost = false
	} else {
		now, all, err := m.settings()
		if err != nil {
			return Result{}, err
		}
		l.set(now, all)
	}
	if l.link < l.last {
		return Result{Next: m.all}, nil
	}
	if m.kind == kindFresh {
		return Result{}, nil
	}
	return Result{First: append(l.again(), l.decide.back(m.number, &l.places)...)}, nil
}

// set sets the positions of elements that lie in this link.
func (l *Link) set(now uint64, all []setting) {
	l.advance(now)
	elements := make([]uint64, len(all))
	for i := range all {
		elements[i] = all[i].element
	}
	l.pos = l.places.each(l.pos, elements, func(from int, pos []uint64) {
		l.touched += l.store.touch(pos, l.lo)
		for i := 0; i < len(pos); i += l.places.k {
			l.put(pos[i:i+l.places.k], all[from+i/l.places.k].zeroAt)
		}
	})
}

// advance sets the present unit. A link that was lost a window ago knows the whole window
// again.
func (l *Link) advance(now uint64) {
	l.tick(now)
	switch {
	case !l.lost || !l.store.timed:
	case l.since == 0:
		l.since = max(1, l.now)
	case l.now >= l.since+l.shape.Window():
		l.lost = false
	}
}
