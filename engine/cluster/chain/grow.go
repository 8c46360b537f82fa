// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"math"
	"slices"
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

// put sets the bits of an element that lie in the slice.
func (l *Link) put(pos []uint64, zeroAt uint64) {
	if l.older.hold(pos, l.lo, l.store.size) > 0 {
		return
	}
	l.makeRoom(pos)
	for _, p := range pos {
		if off := p - l.lo; off < l.store.size {
			l.store.set(off, zeroAt)
		}
	}
}

// makeRoom begins a filter if the newest one is full and an element is new to it. Without
// memory, or above the limit, the newest one goes on as it is.
func (l *Link) makeRoom(pos []uint64) {
	if l.shape.Grow == "" {
		return
	}
	here, set := l.store.count1(pos, l.lo, l.store.size)
	if set == here {
		return
	}
	if l.isFull() && len(l.older)+1 < l.shape.filters() {
		if next, err := newStore(l.shape.Size(), false); err == nil {
			l.older, l.store, l.placed = append(l.older, l.store), next, 0
		}
	}
	l.placed += here
}

func (l *Link) isFull() bool {
	if l.shape.Grow == ByDensity {
		return uint64(l.store.ones) >= l.full
	}
	return l.placed >= l.full
}

// holds returns, for each number of positions of a new element in the slice, the probability
// that the slice holds all of them. It reads a sample. Filters are not independent: no newer
// one gets an element that an older one has.
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
		mask := l.store.get(off)
		for i := range l.older {
			mask |= l.older[i].get(off) << (i + 1)
		}
		all = append(all, mask)
	}
	return all
}

// holding is an entry of holds for filters that are independent.
func (l *Link) holding(j int) float64 {
	none := 1 - math.Pow(l.store.fill(0), float64(j))
	for i := range l.older {
		none *= 1 - math.Pow(l.older[i].fill(0), float64(j))
	}
	return 1 - none
}
