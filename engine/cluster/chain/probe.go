// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// Probe is the answer to a probe: the elements that a chain holds at present.
type Probe struct {
	Reply   string   // subject that the answer goes to
	Levels  int      // levels of hubs, this hub included, that have to hold an element
	Digests []uint64 // valid until the next message
	Copies  []byte   // a bit for each, 1 if the chain holds it
}

// MaxProbe bounds the digests of a probe.
const MaxProbe = maxElements

// NewProbe returns a message to the first link of a chain: it asks which elements the chain
// holds, and sets nothing. The last link has the answer, as Result.Probe. There may be MaxProbe
// digests, and a reply may have 255 bytes.
func (s Shape) NewProbe(reply string, levels int, digests []uint64) []byte {
	r := hubclient.Request{Op: hubclient.Test, Digests: digests}
	return newMessage(kindProbe, uint64(levels), "", reply, r.Append(nil), stateBytes(kindProbe, len(digests), s)).all
}

// probe tests the elements of a probe. Unlike a request it may begin at any link, and leaves
// no trace.
func (l *Link) probe(m *message) (Result, error) {
	if err := m.request(&l.request, l.shape); err != nil {
		return Result{}, err
	}
	l.find(m, &l.request)
	if l.lost {
		m.addLost(l.link)
	}
	if l.link < l.last {
		return Result{Next: m.all}, nil
	}
	return Result{Probe: &Probe{m.reply, int(m.number), l.request.Digests, l.holdings(m)}}, nil
}

// holdings returns which elements the chain holds. Elements that
// wait for Settle count as held, as do elements that only a lost link could rule out.
func (l *Link) holdings(m *message) []byte {
	d, lost, r := l.decide, m.lostLinks(), &l.request
	copies := make([]byte, (len(r.Digests)+7)/8)
	l.pos = l.places.each(l.pos, r.Digests, func(from int, pos []uint64) {
		for i := 0; i < len(pos); i += l.places.k {
			e := from + i/l.places.k
			l.collect(m, e, pos[i:i+l.places.k], lost)
			if _, waits := d.held[r.Digests[e]]; waits || d.agree(d.values) {
				copies[e/8] |= 1 << (e % 8)
			}
		}
	})
	return copies
}
