// SPDX-License-Identifier: Apache-2.0

// Package top finds the elements with the most packets or bytes. It is exact while memory
// allows, and then is Space-Saving (Metwally, Agrawal, El Abbadi, Efficient Computation of
// Frequent and Top-k Elements in Data Streams, ICDT 2005) with weights:
//
//	s := top.New[[16]byte](top.Packets)
//	s.Add(key, 1500)
//	for _, e := range s.Top(10) {
//		fmt.Println(e.Key, e.Count[top.Packets], e.Count[top.Bytes])
//	}
package top

import (
	"cmp"
	"math"
	"slices"
	"unsafe"
)

// By is what elements are ranked by.
type By int

// The two counts of an element.
const (
	Packets By = iota
	Bytes
)

// Key is an element.
type Key interface{ [16]byte | [48]byte }

// Summary counts the packets and bytes of elements. Where it has no room for a new element, the
// element with the lowest count leaves, and the new element starts with the highest counts that
// elements ever left with: it may itself have left before. So no count is too low. Of n packets
// in m entries the count of packets is at most n/m too high, if elements are ranked by packets;
// likewise the count of bytes, if they are ranked by bytes. The result depends on nothing but the
// elements, their order, and the calls of Limit between them.
type Summary[K Key] struct {
	by      By
	most    int // entries
	at      map[K]int32
	entries []Entry[K]
	left    [2]uint64 // highest counts of elements that have left
	// heap has the numbers of all entries, the lowest count first, and place where each is in it. Both
	// are nil until an element has to leave.
	heap, place []int32
}

// Entry is an element with its counts.
type Entry[K Key] struct {
	Key   K
	Count [2]uint64 // by By: never too low
	Over  [2]uint64 // how much too high each count is at most
}

// New returns an empty Summary without a limit.
func New[K Key](by By) *Summary[K] {
	return &Summary[K]{by: by, most: math.MaxInt32, at: map[K]int32{}}
}

// Add counts a packet of an element.
func (s *Summary[K]) Add(key K, bytes uint64) {
	i, known := s.at[key]
	if !known {
		if i = int32(len(s.entries)); int(i) < s.most {
			s.entries, s.heap, s.place = append(s.entries, Entry[K]{}), nil, nil
		} else {
			i = s.leave()
		}
		s.entries[i] = Entry[K]{key, s.left, s.left}
		s.at[key] = i
	}
	e := &s.entries[i]
	e.Count[Packets]++
	e.Count[Bytes] += bytes
	if s.heap != nil {
		s.sink(int(s.place[i]))
	}
}

// leave removes the element with the lowest count, and returns the number of its entry.
func (s *Summary[K]) leave() int32 {
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
	delete(s.at, e.Key)
	s.left = [2]uint64{max(s.left[0], e.Count[0]), max(s.left[1], e.Count[1])}
	return s.heap[0]
}

// sink puts the entry at place i of the heap, whose count has grown, where it belongs.
func (s *Summary[K]) sink(i int) {
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
// count decides, then the key.
func (s *Summary[K]) Top(n int) []Entry[K] {
	top := make([]Entry[K], 0, min(n, len(s.entries))+1)
	for i := range s.entries {
		e := s.entries[i]
		at, _ := slices.BinarySearchFunc(top, e, func(a, b Entry[K]) int { return cmp.Or(s.by.Compare(a.Count, b.Count), compare(a.Key, b.Key)) })
		if at < n {
			top = slices.Insert(top, at, e)
			top = top[:min(n, len(top))]
		}
	}
	return top
}

// Compare compares counts: negative is first in a ranking.
func (by By) Compare(a, b [2]uint64) int {
	return cmp.Or(cmp.Compare(b[by], a[by]), cmp.Compare(b[1-by], a[1-by]))
}

// compare compares keys byte by byte.
func compare[K Key](a, b K) (order int) {
	for i := 0; i < len(a) && order == 0; i++ {
		order = cmp.Compare(a[i], b[i])
	}
	return order
}

// size returns the memory of an entry in bytes, also in lists and maps as they grow.
func (s *Summary[K]) size() int {
	return int(3*unsafe.Sizeof(Entry[K]{})/2 + 2*unsafe.Sizeof(*new(K)) + 24)
}

// Limit bounds the memory, in bytes. A Summary that is larger does not shrink.
func (s *Summary[K]) Limit(bytes int) { s.most = max(bytes/s.size(), len(s.entries), 1) }

// Needs returns the memory with more elements, in bytes.
func (s *Summary[K]) Needs(more int) int { return (len(s.entries) + more) * s.size() }
