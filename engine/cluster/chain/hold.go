// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// Held is an element that is new here, and waits until a hub above has said whether it is new
// there.
type Held struct {
	At int // in its request
	setting
}

// Hold makes the last link, or the only link, hold new elements until Settle: the sparse
// Bloom tree of KNPS, Algorithm 2. Meanwhile the same element counts as seen, whichever
// site sends it: the hub above is asked about it once. It is for first-test-then-set:
// elements that test-and-set has set are not held, which is the dense tree, Algorithm 1.
// dense makes a dense tree of it, of timers: elements that the hub above knows are set here, too,
// for as long as it knows them.
func (l *Link) Hold(dense bool) { l.hold, l.dense = true, dense }

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

// zeroAtOf returns the value that an element is set to, or 0 if it is not set. left is how long
// a copy stays a copy.
func (l *Link) zeroAtOf(h *Held, isCopy bool, left uint16) uint64 {
	switch {
	case !isCopy:
		return h.zeroAt
	case !l.dense || left == 0:
		return 0
	}
	if zeroAt := h.zeroAt - l.shape.Window() + uint64(left); zeroAt > l.decide.now {
		return zeroAt
	}
	return 0
}

// Settle sets the elements of a request that are new to the hub above. copies has a bit
// for each element of the request, 1 for elements that it knows. In a dense tree they are set
// for as long as remaining says, which may be empty. set is the number of elements that
// are set.
func (l *Link) Settle(held []Held, copies []byte, remaining []uint16) (result Result, set int) {
	d := l.decide
	if len(held) > 0 {
		d.waiting--
	}
	var news []setting
	pos := make([]uint64, l.places.k)
	for _, h := range held {
		delete(d.held, h.element)
		left := uint16(0)
		if h.At < len(remaining) {
			left = remaining[h.At]
		}
		zeroAt := l.zeroAtOf(&h, copies[h.At/8]>>(h.At%8)&1 != 0, left)
		if zeroAt == 0 {
			continue
		}
		set++
		l.places.of(pos, h.element)
		if l.last == 0 {
			l.put(pos, zeroAt)
			continue
		}
		d.remember(pos, zeroAt)
		news = append(news, setting{h.element, zeroAt})
	}
	if len(news) == 0 {
		return Result{}, set
	}
	return l.sent(Result{First: [][]byte{d.send(news)}}), set
}

// remain records how long an element that was seen stays seen, if the request asks for it.
func (l *Link) remain(a *Answer, r *hubclient.Request, e int) {
	if !r.Remaining || !l.store.timed || l.shape.Filter != Timers {
		return
	}
	if a.Remaining == nil {
		a.Remaining = make([]uint16, len(r.Digests))
	}
	if _, waits := l.decide.held[r.Digests[e]]; !waits && len(l.decide.values) > 0 {
		end, unit := slices.Min(l.decide.values), l.unitOf(r, e)
		a.Remaining[e] = uint16(min(end-min(end, unit), math.MaxUint16))
	}
}
