// SPDX-License-Identifier: Apache-2.0

// Package top finds the elements with the most packets or bytes. It is exact while memory
// allows, and then is Space-Saving (Metwally, Agrawal, El Abbadi, Efficient Computation of
// Frequent and Top-k Elements in Data Streams, ICDT 2005) with weights:
//
//	s := top.New(top.Packets)
//	s.Add(top.Key{'a'}, 1, 1500)
//	for _, e := range s.Top(10) {
//		fmt.Println(e.Key, e.Count[top.Packets], e.Count[top.Bytes])
//	}
package top

import (
	"bytes"
	"cmp"
	"math"
	"unsafe"
)

// By is what elements are ranked by.
type By int

// The two counts of an element.
const (
	Packets By = iota
	Bytes
)

// Key is an element as its caller prints it.
type Key [48]byte

// Summary counts the packets and bytes of elements. Where it has no room for a new element, the
// element with the lowest count leaves, and the new element starts with the highest counts that
// elements ever left with: it may itself have left before. So no count is too low. Of n packets
// in m entries the count of packets is at most n/m too high, if elements are ranked by packets;
// likewise the count of bytes, if they are ranked by bytes. The result depends on nothing but the
// elements, their order, and the calls of Limit between them.
type Summary struct {
	by      By
	most    int // entries
	at      map[uint64]int32
	entries []Entry
	left    [2]uint64 // highest counts of elements that have left
	// heap has the numbers of all entries, the lowest count first, and place where each is in it. Both
	// are nil until an element has to leave.
	heap, place []int32
}

// Entry is an element with its counts.
type Entry struct {
	Key   Key
	id    uint64
	Count [2]uint64 // by By: never too low
	Over  [2]uint64 // how much too high each count is at most
}

// New returns an empty Summary without a limit.
func New(by By) *Summary { return &Summary{by: by, most: math.MaxInt32, at: map[uint64]int32{}} }

// Add counts a packet of an element. Elements are the same if they have the same id, such as half
// of a keyed digest.
func (s *Summary) Add(key Key, id, bytes uint64) {
	i, known := s.at[id]
	if !known {
		if i = int32(len(s.entries)); int(i) < s.most {
			s.entries, s.heap, s.place = append(s.entries, Entry{}), nil, nil
		} else {
			i = s.leave()
		}
		s.entries[i] = Entry{key, id, s.left, s.left}
		s.at[id] = i
	}
	e := &s.entries[i]
	e.Count[Packets]++
	e.Count[Bytes] += bytes
	if s.heap != nil {
		s.sink(int(s.place[i]))
	}
}

// leave removes the element with the lowest count, and returns the number of its entry.
func (s *Summary) leave() int32 {
	if s.heap == nil {
		s.heap, s.place = make([]int32, len(s.entries)), make([]int32, len(s.entries))
		for i := range s.heap {
			s.heap[i], s.place[i] = int32(i), int32(i)
		}
		for i := len(s.heap)/2 - 1; i >= 0; i-- {
			s.sink(i)
		}
	}
	e := &s.entries[s.heap[0]]
	delete(s.at, e.id)
	s.left = [2]uint64{max(s.left[0], e.Count[0]), max(s.left[1], e.Count[1])}
	return s.heap[0]
}

// sink puts the entry at place i of the heap, whose count has grown, where it belongs.
func (s *Summary) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= min(2*i+2, len(s.heap)-1); child++ {
			if s.entries[s.heap[child]].Count[s.by] < s.entries[s.heap[least]].Count[s.by] {
				least = child
			}
		}
		if least == i {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		s.place[s.heap[i]], s.place[s.heap[least]] = int32(i), int32(least)
		i = least
	}
}

// Top returns the n elements with the highest counts, the highest first. Of equal counts the other
// count decides, then the key. It takes O(m n) at most for m elements, and nearly always O(m): few
// elements come among the first n of those so far.
func (s *Summary) Top(n int) []*Entry {
	var top []*Entry
	for i := range s.entries {
		top = append(top, &s.entries[i])
		for at := len(top) - 1; at > 0 && s.compare(top[at], top[at-1]) < 0; at-- {
			top[at], top[at-1] = top[at-1], top[at]
		}
		top = top[:min(n, len(top))]
	}
	return top
}

// compare says which entry is first.
func (s *Summary) compare(a, b *Entry) int {
	by, other := s.by, Bytes-s.by
	return cmp.Or(cmp.Compare(b.Count[by], a.Count[by]), cmp.Compare(b.Count[other], a.Count[other]), bytes.Compare(a.Key[:], b.Key[:]))
}

// entrySize is the memory of an entry in bytes: in the list, which takes twice as much while it grows, in
// the map and in the heap.
const entrySize = int(2*unsafe.Sizeof(Entry{})) + 48

// Limit bounds the memory, in bytes. A Summary that is larger does not shrink.
func (s *Summary) Limit(bytes int) { s.most = max(bytes/entrySize, len(s.entries), 1) }

// Needs returns the memory with more elements, in bytes.
func (s *Summary) Needs(more int) int { return (len(s.entries) + more) * entrySize }
