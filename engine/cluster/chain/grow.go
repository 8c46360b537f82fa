// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/layout"
)

// older are the full filters of a slice of dynamic size, as in KNPS, section 5, "applied per
// slice, independently". An element lies in one of the filters of each of its slices, with
// all bits that it has there. Slices differ in age, so the filters may differ in number.
type older []store

// hold returns 1 if one of the filters has all bits of an element that lie in the slice, and
// 0 otherwise. The slice begins at lo and has size positions.
func (o older) hold(pos []uint64, lo, size uint64) uint64 {
	for i := range o {
		if n, set := o[i].count1(pos, lo, size); n > 0 && set == n {
			return 1
		}
	}
	return 0
}

// best returns the filter of a slice to take the values of an element from. If filters hold all
// of its timers here, it is the filter with most equal timers, where these count, and among such
// filters the filter whose timers run longest.
func (l *Link) best(pos []uint64) *store {
	best := &l.store
	if len(l.older) == 0 {
		return best
	}
	group, first := l.agreement(best, pos)
	for i := range slices.Backward(l.older) {
		if g, f := l.agreement(&l.older[i], pos); g > group || g == group && f > first {
			best, group, first = &l.older[i], g, f
		}
	}
	return best
}

// agreement returns how many of an element's positions here are equal, or 0 if one is not set
// at present. Where equal positions do not count, it returns 1 if all are set. It also returns the unit
// in which the first of them reaches zero.
func (l *Link) agreement(s *store, pos []uint64) (group int, first uint64) {
	l.values = l.values[:0]
	first = math.MaxUint64
	for _, p := range pos {
		if off := p - l.lo; off < s.size {
			v := s.get(off)
			l.values = append(l.values, v)
			first = min(first, v)
		}
	}
	now := l.now
	if !s.timed {
		now = 0
	}
	if group = layout.EqualGroup(l.values, now); l.shape.Equal <= 1 {
		group = min(group, 1)
	}
	return group, first
}

// close returns the memory.
func (o older) close() (err error) {
	for i := range o {
		err = errors.Join(err, o[i].arena.Close())
	}
	return err
}

// count1 returns how many positions lie in the slice, and how many of these are set.
func (s *store) count1(pos []uint64, lo, size uint64) (here, set uint64) {
	for _, p := range pos {
		if off := p - lo; off < size {
			here++
			set += s.get(off)
		}
	}
	return here, set
}

// take tests and sets the bits of an element that lie in the slice. It reports whether all
// were set, and returns here as 0 if there are none, and as 1 otherwise.
func (l *Link) take(pos []uint64) (seen bool, here uint64) {
	if l.older.hold(pos, l.lo, l.store.size) > 0 {
		return true, 1
	}
	l.makeRoom(pos)
	seen = true
	for _, p := range pos {
		if off := p - l.lo; off < l.store.size {
			seen = l.store.testAndSet(off) && seen
			here = 1
		}
	}
	return seen, here
}

// put sets the bits or timers of an element that lie in the slice.
func (l *Link) put(pos []uint64, zeroAt uint64) {
	if !l.store.timed && l.older.hold(pos, l.lo, l.store.size) > 0 {
		return
	}
	l.makeRoom(pos)
	for _, p := range pos {
		if off := p - l.lo; off < l.store.size {
			l.store.set(off, zeroAt)
		}
	}
}

// makeRoom begins a filter if the newest filter is full and an element is new to it. Without
// memory, or above the limit, the newest filter goes on as it is.
func (l *Link) makeRoom(pos []uint64) {
	if l.shape.Grow == "" {
		return
	}
	here, set := l.store.count1(pos, l.lo, l.store.size)
	if here == 0 || !l.store.timed && set == here {
		return
	}
	if l.isFull() && len(l.older)+1 < l.shape.filters() {
		if next, err := l.newStore(); err == nil {
			l.older, l.store = append(l.older, l.store), next
		}
	}
	l.store.placed += here
}

func (l *Link) isFull() bool {
	switch {
	case l.shape.Grow != ByDensity:
		return l.store.placed >= l.full
	case l.store.timed:
		return l.store.running.count >= l.full
	}
	return uint64(l.store.ones) >= l.full
}

// newStore returns an empty filter of the slice.
func (l *Link) newStore() (store, error) {
	s, err := newStore(l.shape.Size(), l.shape.Filter != Bloom)
	if l.shape.Grow != "" && s.timed {
		s.running = newRunning(l.shape.Window(), l.now)
	}
	return s, err
}

// tick makes a unit the present, unless that is past. Filters whose timers have all reached zero
// are discarded. There is always a filter.
func (l *Link) tick(unit uint64) {
	if unit <= l.now {
		return
	}
	l.now = unit
	if l.store.running == nil {
		return
	}
	all := append(l.older, l.store)
	kept := all[:0]
	for i := range all {
		if all[i].running.advance(unit); all[i].running.count > 0 || i == len(all)-1 && len(kept) == 0 {
			kept = append(kept, all[i])
		} else {
			l.closing = errors.Join(l.closing, all[i].arena.Close())
		}
	}
	last := len(kept) - 1
	l.older, l.store = older(kept[:last]), kept[last]
	if l.store.running.count == 0 {
		l.store.placed = 0
	}
}

// holds returns, for each number of positions of a new element in the slice, the probability
// that the slice holds all of them. It reads a sample. Filters are not independent: no newer
// filter gets an element that an older filter has.
func (l *Link) holds() []float64 {
	all := make([]float64, l.places.k+1)
	fill := l.store.fill(l.now)
	for j := range all {
		all[j] = math.Pow(fill, float64(j))
	}
	if len(l.older) == 0 {
		return all
	}
	masks := l.masks()
	n := len(masks)
	both := slices.Clone(masks) // filters that the positions of each sample have in common
	for j := 1; j < len(all); j++ {
		found := 0
		for i := range both {
			if j > 1 {
				both[i] &= masks[(i+(j-1)*sampleStride)%n]
			}
			if both[i] != 0 {
				found++
			}
		}
		if all[j] = float64(found) / float64(n); found < enough {
			all[j] = l.holding(j) // close enough where filters have little in common
		}
	}
	return all
}

const (
	// sampleStride leads from one position of a sample to the next: a prime.
	sampleStride = 40_503
	// enough is the number of a sample's hits from which on its share counts.
	enough = 1000
)

// masks returns, for a sample of positions, which filters have each of them set.
func (l *Link) masks() (all []uint64) {
	step := max(1, l.store.size/sampled)
	for off := uint64(0); off < l.store.size; off += step {
		mask := l.store.isSet(off, l.now)
		for i := range l.older {
			mask |= l.older[i].isSet(off, l.now) << (i + 1)
		}
		all = append(all, mask)
	}
	return all
}

// holding is an entry of holds for filters that are independent.
func (l *Link) holding(j int) float64 {
	none := 1 - math.Pow(l.store.fill(l.now), float64(j))
	for i := range l.older {
		none *= 1 - math.Pow(l.older[i].fill(l.now), float64(j))
	}
	return 1 - none
}
