// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"slices"
)

// exactAside describes the elements that are set aside: kept, but not in the index. Until an element
// comes with a time near theirs, none has a copy. So in a stream in order the index stays in the
// cache, however many elements there are.
//
// If their digest comes again, it gets a second element, which replaces the first in all that follows.
// A sample of the digests bounds how many elements are replaced.
type exactAside struct {
	first     int             // the number of the first element that is not set aside
	low, high int64           // the times at which elements can be copies of those set aside
	sample    map[uint64]bool // of the digests set aside
	again     int             // how many of the sample came again
	wholeTo   int             // as long as there are fewer elements, none is set aside
}

const (
	// asideIndex is the size of an index from which on elements are set aside.
	asideIndex = 1 << 14
	// asideEvery is the number of digests, on average, of which one is in the sample.
	asideEvery = 1 << 10
	// asideAgain bounds the part of elements that are replaced: one in 8.
	asideAgain = 8
)

// near reports whether an element with this time can be a copy of an element set aside.
func (a *exactAside) near(time int64) bool { return a.first > 0 && a.low <= time && time <= a.high }

// setAside sets the earlier half of the elements in the index aside, and reports whether the index
// has room then. It sets none aside if the last quarter is not later by a window.
func (t *exactTable) setAside(window int64) bool {
	n := t.len - t.first
	if len(t.index) < asideIndex || t.len < t.wholeTo {
		return false
	}
	var times [64]int64
	for i := range times {
		times[i] = t.at(t.first + i*(n/len(times))).time
	}
	slices.Sort(times[:])
	until := times[len(times)/2]
	if earlier(times[len(times)*3/4], window) <= until {
		return false
	}
	if t.first == 0 {
		t.low, t.high, t.sample = math.MaxInt64, math.MinInt64, map[uint64]bool{}
	}
	t.high = max(t.high, until+window)
	for i := t.first; i < t.len; i++ {
		e := t.at(i)
		if e.time > until {
			continue
		}
		t.low = min(t.low, earlier(e.time, window))
		if d := &e.digest; d[1]%asideEvery == 0 {
			if t.sample[d[0]] {
				t.again++
			}
			t.sample[d[0]] = true
		}
		if to := t.at(t.first); to != e {
			*to, *e = *e, *to
		}
		t.first++
	}
	if t.again*asideAgain > len(t.sample)+64 {
		t.takeBack()
		return true
	}
	clear(t.index)
	t.enterAll()
	return t.len-t.first < n*3/4
}

// takeBack enters all elements in the index, and removes those that are replaced. It costs as much as
// all elements, so none is set aside again before there are twice as many.
func (t *exactTable) takeBack() {
	n := t.len
	t.exactAside, t.len = exactAside{}, 0
	t.makeIndex(exactSlots(n + 1))
	for i := range n {
		e := *t.at(i)
		k, _ := t.element(&e.digest)
		*k = e
	}
	t.shrink(t.len)
	t.wholeTo = 2 * t.len
}
