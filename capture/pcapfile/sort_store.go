// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// waiting is a packet that waits.
type waiting struct {
	key    int64  // its time
	number uint64 // in the source, which orders packets of equal times
	frame  capture.Frame
	cell   uint32 // the first of its record
}

func (w *waiting) before(other *waiting) bool {
	return w.key < other.key || w.key == other.key && w.number < other.number
}

// sortQueue holds packets. Packets in order are in a ring, and the others in a heap.
type sortQueue struct {
	ring       []waiting
	first, len int // of the ring's packets
	others     sortHeap
}

// push adds a packet. It goes to the ring if none in the ring is later.
func (q *sortQueue) push(w waiting) {
	if q.len > 0 && w.before(q.at(q.len-1)) {
		q.others.push(w)
		return
	}
	if q.len == len(q.ring) {
		more := append(slices.Grow([]waiting(nil), q.len+q.len/4+1), q.ring[q.first:]...)
		more = append(more, q.ring[:q.first]...)
		q.ring, q.first = more[:cap(more)], 0
	}
	q.len++
	*q.at(q.len - 1) = w
}

// at returns packet i of the ring.
func (q *sortQueue) at(i int) *waiting {
	if i += q.first; i >= len(q.ring) {
		i -= len(q.ring)
	}
	return &q.ring[i]
}

// earliest returns the earliest packet, nil if there is none, and whether it is in the ring.
func (q *sortQueue) earliest() (w *waiting, inRing bool) {
	if q.len > 0 {
		w, inRing = &q.ring[q.first], true
	}
	if len(q.others) > 0 && (w == nil || q.others[0].before(w)) {
		w, inRing = &q.others[0], false
	}
	return w, inRing
}

// pop removes the earliest packet.
func (q *sortQueue) pop() waiting {
	w, inRing := q.earliest()
	if !inRing {
		return q.others.pop()
	}
	q.len--
	if q.first++; q.first == len(q.ring) {
		q.first = 0
	}
	return *w
}

// sortHeap holds packets, the earliest on top.
type sortHeap []waiting

func (h *sortHeap) push(w waiting) {
	*h = append(*h, w)
	all := *h
	i := len(all) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !w.before(&all[parent]) {
			break
		}
		all[i] = all[parent]
		i = parent
	}
	all[i] = w
}

// pop removes the packet on top.
func (h *sortHeap) pop() waiting {
	all := *h
	top, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	if len(all) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(all) {
			break
		}
		if right := child + 1; right < len(all) && all[right].before(&all[child]) {
			child = right
		}
		if !all[child].before(&last) {
			break
		}
		all[i] = all[child]
		i = child
	}
	all[i] = last
	return top
}

const (
	// cellSize is how many bytes of a record lie together. Most packets are shorter than two
	// cells, or longer than ten.
	cellSize = 128
	// chunkCells is how many cells are allocated at a time: 1 MiB.
	chunkCells = 1 << 13
	// waitingBytes is about the memory of a packet of one cell outside of the cell.
	waitingBytes = 64
)

// cells store records in pieces of one size, so that memory does not fragment.
type cells struct {
	chunks [][]byte
	next   []uint32 // by cell: the cell with the next bytes of the record, or the next free cell
	free   uint32   // the first free cell, plus 1; 0 for none
	used   int
}

// bytes returns the memory that records take, with their share of the heap.
func (c *cells) bytes() int { return c.used * (cellSize + waitingBytes) }

func (c *cells) at(i uint32) []byte {
	return c.chunks[i/chunkCells][int(i%chunkCells)*cellSize:][:cellSize]
}

// put stores a record of at least one byte, and returns its first cell.
func (c *cells) put(record []byte) (first uint32) {
	first = c.cell()
	for i := first; ; {
		n := copy(c.at(i), record)
		if record = record[n:]; len(record) == 0 {
			return first
		}
		next := c.cell()
		c.next[i] = next
		i = next
	}
}

// cell returns a free cell.
func (c *cells) cell() uint32 {
	c.used++
	if c.free > 0 {
		i := c.free - 1
		c.free = c.next[i]
		return i
	}
	i := len(c.next)
	if i == len(c.chunks)*chunkCells {
		c.chunks = append(c.chunks, make([]byte, chunkCells*cellSize))
	}
	c.next = append(c.next, 0)
	return uint32(i)
}

// take appends a record of n bytes, and frees its cells.
func (c *cells) take(to []byte, i uint32, n int) []byte {
	for {
		piece := c.at(i)[:min(n, cellSize)]
		to = append(to, piece...)
		next := c.next[i]
		c.next[i], c.free = c.free, i+1
		c.used--
		if n -= len(piece); n == 0 {
			return to
		}
		i = next
	}
}
