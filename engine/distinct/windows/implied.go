// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"slices"

	"github.com/flowdedup/flowdedup/engine/distinct"
)

// impliedBy holds for each key the key that implies it, maybe itself, or -1 for none.
// An element that came before in the same window, and in the same step of the past if
// there is a past, is not new to either. Then the implied elements of other keys are not new
// either: they are not even made.
//
// With a past its rows find such elements, if the step is part of one window. Without a
// past, the counter of the window does: see reliable. So most packets cost one lookup, of
// one key.
type impliedBy []int

// noneImplied returns an impliedBy in which no key implies another.
func noneImplied(keys int) impliedBy { return slices.Repeat(impliedBy{-1}, keys) }

// newImpliedBy chooses for each key the implying key that implies the most keys.
func newImpliedBy(cfg *Config) impliedBy {
	n := len(cfg.Keys)
	all, count := noneImplied(n), make([]int, n)
	if cfg.Implies == nil {
		return all
	}
	for by := range n {
		for i := range n {
			if cfg.Keys[by].PerPacket == 1 && cfg.Implies(by, i) {
				count[by]++
			}
		}
	}
	for i := range n {
		for by := range n {
			if count[by] > 0 && cfg.Implies(by, i) && (all[i] < 0 || count[by] > count[all[i]]) {
				all[i] = by
			}
		}
	}
	return all
}

// others returns the other keys that a key implies.
func (b impliedBy) others(by int) (keys []int) {
	for i := range b {
		if b[i] == by && i != by {
			keys = append(keys, i)
		}
	}
	return keys
}

// direct returns the keys that no other key implies.
func (b impliedBy) direct() (keys []int) {
	for i, by := range b {
		if by == i || by < 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// unseen lists the elements of a series that did not come before in the same window, nor
// in the same step of the past, if there is a past. Implied keys are made only from these
// elements. With a past, windows count only these elements.
type unseen struct {
	valid   bool     // if false all elements are counted
	numbers []uint32 // ascending
	taken   int      // how many of the numbers take has returned
}

func (u *unseen) reset() { u.valid, u.numbers, u.taken = false, u.numbers[:0], 0 }

// add adds the elements from from to before end whose bit in seen is not set.
func (u *unseen) add(seen []uint64, from, end int) {
	n := len(u.numbers)
	u.numbers, u.valid = appendUnset(u.numbers, seen[:(end-from+63)/64], end-from), true
	if from > 0 {
		for i := range u.numbers[n:] {
			u.numbers[n+i] += uint32(from)
		}
	}
}

// addAll adds the elements from from to before end.
func (u *unseen) addAll(from, end int) {
	for i := from; i < end; i++ {
		u.numbers = append(u.numbers, uint32(i))
	}
}

// reliable returns how many bits of the counter's last call, from the first bit on, mean
// that an element was counted before. They are wrong at the counter's rate of false
// positives. A sample also sets the bits of elements outside it, and a sketch most bits.
// A Bloom filter would make the counts of implied keys as approximate as its own.
func reliable(counter any, elements int) int {
	switch c := counter.(type) {
	case *distinct.DigestRows:
		return c.Unsampled()
	case *distinct.DigestMap:
		return elements
	}
	return 0
}

// unseenIf returns the unseen elements of a series, or nil.
func (s *Series[E]) unseenIf(wanted bool) *unseen {
	if !wanted {
		return nil
	}
	return &s.unseen
}

// within returns the numbers from from to before end.
func (u *unseen) within(from, end int) []uint32 {
	first, _ := slices.BinarySearch(u.numbers, uint32(from))
	last, _ := slices.BinarySearch(u.numbers[first:], uint32(end))
	return u.numbers[first:][:last]
}

// take returns the numbers that it has not yet returned.
func (u *unseen) take() []uint32 {
	numbers := u.numbers[u.taken:]
	u.taken = len(u.numbers)
	return numbers
}

// derive has the caller add the elements of a group that follow from the unseen elements
// of the key that implies them.
func (b *Batch) derive(i int) {
	by := &b.keys[b.derived[i].By]
	v4, v6 := by.V4.unseen.take(), by.V6.unseen.take()
	if len(v4)+len(v6) == 0 {
		return
	}
	b.Derive(i, v4, v6)
	for _, key := range b.derived[i].Keys {
		e := &b.keys[key]
		e.Addr4.renumber(by.V4.packets)
		e.V4.renumber(by.V4.packets)
		e.V6.renumber(by.V6.packets)
	}
}

// renumber replaces number n by packets[n] in the elements that next has not returned.
func (s *Series[E]) renumber(packets []uint32) {
	added := s.packets[s.at:]
	for i, n := range added {
		added[i] = packets[n]
	}
}
