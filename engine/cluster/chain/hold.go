// SPDX-License-Identifier: Apache-2.0

package chain

// Held is an element that is new here, and waits until a hub above has said whether it is new
// there.
type Held struct {
	At int // in its request
	setting
}

// Hold has the last link, or the only one, hold what is new until Settle: that is the sparse
// Bloom tree of KNPS, Algorithm 2. Meanwhile the same element counts as seen, whoever sends it:
// it is asked about above once. It is for requests that are tested first and set then: what
// test-and-set has set is not held, which is the dense tree, Algorithm 1.
func (l *Link) Hold() { l.hold = true }

// hold notes that an element waits.
func (d *decider) hold(at int, element, zeroAt uint64) Held {
	d.held[element] = zeroAt
	return Held{at, setting{element, zeroAt}}
}

// holds notes that a request waits, if it does.
func (d *decider) holds(held []Held) []Held {
	if len(held) > 0 {
		d.waiting++
	}
	return held
}

// Settle sets those elements of a request that the hub above has not known. copies has a bit for
// each element of the request, 1 for those that are not set.
func (l *Link) Settle(held []Held, copies []byte) Result {
	d := l.decide
	if len(held) > 0 {
		d.waiting--
	}
	var news []setting
	pos := make([]uint64, l.places.k)
	for _, h := range held {
		delete(d.held, h.element)
		if copies[h.At/8]>>(h.At%8)&1 != 0 {
			continue
		}
		l.places.of(pos, h.element)
		if l.last == 0 {
			l.put(pos, h.zeroAt)
			continue
		}
		d.remember(pos, h.zeroAt)
		news = append(news, h.setting)
	}
	if len(news) == 0 {
		return Result{}
	}
	return l.sent(Result{First: [][]byte{d.send(news)}})
}
