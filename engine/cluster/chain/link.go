// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// Link is one slice of a filter: a link of a chain, or all of it. It serves one goroutine,
// and wants Close at the end.
//
// A link that has lost its state sets new elements, but does not answer until it knows
// the whole window again. The last link decides without it, as the shape says (AtLeast).
// Once all links of a chain have lost all, none has: the chain begins anew.
type Link struct {
	shape  Shape
	places places
	number int // of the slice
	link   int // in its chain
	last   int // link of the chain
	unit   uint64
	lo     uint64 // its first position in the chain
	store  store  // the newest filter of the slice
	older  older
	full   uint64 // see Shape.capacity
	lost   bool
	since  uint64 // unit of the loss, 0 while unknown
	now    uint64 // latest unit that it has seen
	tests  uint64 // of elements
	hops   uint64 // messages to other links
	bytes  uint64 // of them
	decide *decider
	hold   bool // new elements wait for Settle
	dense  bool // copies of them are set, too
	resend bool // sets that are pending

	sites  []site
	byName map[string]int

	request hubclient.Request
	pos     []uint64
	values  []uint64
	touched uint64 // keeps the compiler from removing the prefetching reads
	closing error  // of filters that were discarded
}

// site is the state of a site.
type site struct {
	slice.SiteStats
	Replies slice.Replies
}

// Answer is an answer to a site.
type Answer struct {
	Site   string
	Reply  string // subject of the answer
	Status hubclient.Status
	Seq    uint64
	N      int
	Fence  uint64 // of the first link
	Copies []byte // valid until the next message
	Again  bool   // the answer to a request that came before
	// Remaining is how long each copy stays a copy, from its own time, in units of the shape: if the
	// request asks for it, and these are timers. It is 0 if that is unknown.
	Remaining []uint16
	// Unchecked is how many elements were not decided, and count as new.
	Unchecked int
	// Request is the request, valid until the next message. It is nil unless the answer
	// is OK, and decided.
	Request *hubclient.Request
}

// Result is the outcome of a message. Messages are the caller's.
type Result struct {
	Answer *Answer  // nil for none
	Next   []byte   // to the next link
	First  [][]byte // to the first link
	Held   []Held   // elements that wait for Settle
	Probe  *Probe   // the answer to a probe, nil for none
}

// New makes an empty slice. Errors wrap ErrShape, or are of the system that has no memory.
func New(s Shape, number int) (*Link, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if number < 0 || number >= s.Slices() {
		return nil, fmt.Errorf("%w: slice %d of %d", ErrShape, number, s.Slices())
	}
	l := &Link{shape: s, places: newPlaces(s), number: number, last: s.Links() - 1, unit: s.Unit(), byName: map[string]int{}}
	_, l.link = s.Place(number)
	l.lo = uint64(l.link) * l.places.size
	if l.link == l.last {
		l.decide = newDecider(s)
	}
	if s.Grow != "" {
		l.full = s.capacity()
	}
	var err error
	l.store, err = l.newStore()
	return l, err
}

// Close gives the memory back.
func (l *Link) Close() error {
	return errors.Join(l.closing, l.store.arena.Close(), l.older.close())
}

// Lose declares the link's state lost.
func (l *Link) Lose() {
	l.lost, l.since = true, 0
	for i := range l.sites {
		l.sites[i].Replies.Askers.Lose()
	}
}

// Begin takes a request of a site, as the first link of its chain. body is the message that r
// was decoded from, and fence the number of the slice's owner.
func (l *Link) Begin(name, reply string, fence uint64, r *hubclient.Request, body []byte) Result {
	refused := &Answer{Site: name, Reply: reply, Status: hubclient.Bad, Seq: r.Seq, N: len(r.Digests), Fence: fence}
	s, ok := l.siteOf(name)
	if !ok || r.Op != hubclient.TestAndSet || r.Time > hubclient.MaxTime || l.link != 0 || !fits(name, reply) ||
		l.last > 0 && len(r.Digests) > maxElements {
		return Result{Answer: refused}
	}
	s.Requests++
	s.Digests += uint64(len(r.Digests))
	again, found := s.Replies.Repeated(reply, r)
	if again && !found { // its elements would be copies of themselves
		s.Replayed++
		refused.Status = hubclient.Stale
		return Result{Answer: refused}
	}
	if l.last == 0 {
		return l.direct(s, refused, r)
	}
	kind := byte(kindTest)
	if l.shape.Primitive == TestAndSet {
		kind = kindTAS
	}
	m := newMessage(kind, fence, name, reply, body, stateBytes(kind, len(r.Digests), l.shape))
	if kind == kindTAS {
		setBits(m.state, len(r.Digests))
	}
	if again {
		s.Replayed++
		m.repeat()
	}
	return l.sent(l.pass(m, s, r))
}

// setBits sets the first n bits.
func setBits(b []byte, n int) {
	for i := range n {
		b[i/8] |= 1 << (i % 8)
	}
}

// Pass takes a message of another link. Errors wrap ErrMessage.
func (l *Link) Pass(msg []byte) (Result, error) {
	m, err := parse(msg)
	if err != nil {
		return Result{}, err
	}
	switch m.kind {
	case kindSet, kindFresh:
		result, err := l.ring(m)
		return l.sent(result), err
	case kindProbe:
		result, err := l.probe(m)
		return l.sent(result), err
	case kindTAS, kindTest:
		if (m.kind == kindTAS) != (l.shape.Primitive == TestAndSet) || l.link == 0 {
			break
		}
		if err := m.request(&l.request, l.shape); err != nil {
			return Result{}, err
		}
		s, ok := l.siteOf(m.site)
		if !ok {
			break
		}
		return l.sent(l.pass(m, s, &l.request)), nil
	}
	return Result{}, fmt.Errorf("%w: of kind %d for link %d", ErrMessage, m.kind, l.link)
}

// sent counts the messages of a result.
func (l *Link) sent(r Result) Result {
	if r.Next != nil {
		l.hops++
		l.bytes += uint64(len(r.Next))
	}
	for _, m := range r.First {
		l.hops++
		l.bytes += uint64(len(m))
	}
	return r
}

// pass tests the elements of a request, and sends the message on, or answers it.
func (l *Link) pass(m *message, s *site, r *hubclient.Request) Result {
	if m.kind == kindTAS {
		l.testAndSet(m, s, r)
	} else {
		l.test(m, s, r)
	}
	if l.lost {
		m.addLost(l.link)
	}
	if l.link < l.last {
		return Result{Next: m.all}
	}
	return l.finish(m, s, r)
}

// testAndSet sets all bits that lie in this link. A repeated request finds what it found
// first.
func (l *Link) testAndSet(m *message, s *site, r *hubclient.Request) {
	if before, ok := s.Replies.Find(r); ok {
		if l.link < l.last { // on the last link finish does that
			copy(m.state, before)
		}
		return
	}
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		l.touched += l.store.touch(pos, l.lo)
		for i := 0; i < len(pos); i += l.places.k {
			set, here := l.take(pos[i : i+l.places.k])
			l.tests += here
			if e := from + i/l.places.k; !set && !l.lost {
				m.state[e/8] &^= 1 << (e % 8)
			}
		}
	})
	if l.link < l.last {
		s.Replies.Keep(r, m.state)
	}
}

// test stores the values of the positions that lie in this link, and the arrival of the request.
func (l *Link) test(m *message, s *site, r *hubclient.Request) {
	l.find(m, r)
	if l.link == 0 && !m.again {
		s.Replies.Keep(r, make([]byte, (len(r.Digests)+7)/8)) // only the arrival counts
	}
}

// find stores the values of the positions that lie in this link.
func (l *Link) find(m *message, r *hubclient.Request) {
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		l.touched += l.store.touch(pos, l.lo)
		for i := 0; i < len(pos); i += l.places.k {
			here, mine := uint64(0), pos[i:i+l.places.k]
			l.tickFor(r, from+i/l.places.k)
			holder := l.best(mine)
			for j, p := range mine {
				if off := p - l.lo; off < l.store.size {
					m.found(from*l.places.k+i+j, holder.get(off), l.store.timed)
					here = 1
				}
			}
			l.tests += here
		}
	})
}

// siteOf returns a site, which is made if it is new. It reports false if there are too many.
func (l *Link) siteOf(name string) (*site, bool) {
	at, ok := l.byName[name]
	if !ok {
		if len(l.sites) == slice.MaxSites || !hubclient.ValidName(name) {
			return nil, false
		}
		at = len(l.sites)
		l.byName[name] = at
		l.sites = append(l.sites, site{SiteStats: slice.SiteStats{Name: name}})
		l.sites[at].Replies.Askers.Lost = l.lost
	}
	return &l.sites[at], true
}

// tickFor makes the unit of an element the present of a slice of dynamic size, so that
// filters that have run out say nothing about it.
func (l *Link) tickFor(r *hubclient.Request, i int) {
	if l.store.running != nil {
		l.tick(l.unitOf(r, i))
	}
}

// unitOf returns the unit of time of an element.
func (l *Link) unitOf(r *hubclient.Request, i int) uint64 {
	t := r.Time / hubclient.DeltaUnit
	if r.Times {
		t = uint64(max(0, int64(t)+min(int64(r.Deltas[i]), maxDelta)))
	}
	return t / l.unit
}

// maxDelta is the most that the time of an element may lie behind the request's: a
// second.
const maxDelta = 1_000_000 / hubclient.DeltaUnit
