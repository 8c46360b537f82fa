// SPDX-License-Identifier: Apache-2.0

package chain

// Held is an element that is new here, and waits until a hub above has said whether it is new
// there.
type Held struct {
	At int // in its request
	setting
}

// Hold makes the last link, or the only one, hold new elements until Settle: the sparse
// Bloom tree of KNPS, Algorithm 2. Meanwhile the same element counts as seen, whichever
// site sends it: the hub above is asked about it once. It is for first-test-then-set:
// elements that test-and-set has set are not held, which is the dense tree, Algorithm 1.
func (l *Link) Hold() { l.hold = true }

// hold marks an element as waiting.
func (d *decider) hold(at int, element, zeroAt uint64) Held {
	d.held[element] = zeroAt
	return Held{at, setting{element, zeroAt}}
}

// holds marks a request as waiting, if any of its elements wait.
func (d *decider) holds(held []Held) []Held {
	if len(held) > 0 {
		d.waiting++
	}
	return held
}

// Settle sets the elements of a request that are new to the hub above. copies has a bit
// for each element of the request, 1 for elements that are not set.
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
