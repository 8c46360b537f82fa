// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// waiting is a packet that waits.
type waiting struct {
	key    int64  // its time
	number uint64 // in the source, which orders packets of equal times
	frame  capture.Frame
	cell   uint32 // in the heap: the first of its record
}

func (w *waiting) before(other *waiting) bool {
	return w.key < other.key || w.key == other.key && w.number < other.number
}

// sortQueue holds packets and their records. Packets in order are in a ring, and behind it in batches
// of which the last packet is the latest of all. The others are in a heap.
type sortQueue struct {
	ring       []waiting
	first, len int       // of the ring's packets
	records    byteQueue // of the ring's packets
	used       int       // cells that the records of ring and batches would take
	whole      []wholeBatch
	free       []*capture.Batch // the memory of those that have left
	others     sortHeap
	store      cells // records of others
}

// bytes returns the memory that packets take, the same in the ring and in the heap.
func (q *sortQueue) bytes() int { return (q.used + q.store.used) * (cellSize + waitingBytes) }

// last returns the time of the latest packet in order, math.MinInt64 if there is none.
func (q *sortQueue) last() int64 {
	switch n := len(q.whole); {
	case n > 0:
		return q.whole[n-1].last()
	case q.len == 0:
		return math.MinInt64
	}
	return q.at(q.len - 1).key
}

// push adds a packet to the end of the ring, without its record. It must not be before another packet.
func (q *sortQueue) push(key int64, number uint64, f *capture.Frame) {
	q.used += cellsOf(f.RecordLen)
	if q.len == len(q.ring) {
		more := append(slices.Grow([]waiting(nil), q.len+q.len/4+1), q.ring[q.first:]...)
		more = append(more, q.ring[:q.first]...)
		q.ring, q.first = more[:cap(more)], 0
	}
	q.len++
	w := q.at(q.len - 1)
	w.key, w.number, w.frame = key, number, *f
}

// at returns packet i of the ring.
func (q *sortQueue) at(i int) *waiting {
	if i += q.first; i >= len(q.ring) {
		i -= len(q.ring)
	}
	return &q.ring[i]
}

// earliest returns the earliest packet, nil if there is none, and whether it is in the ring. None
// may wait in a batch before it.
func (q *sortQueue) earliest() (w *waiting, inRing bool) {
	if q.len > 0 {
		w, inRing = &q.ring[q.first], true
	}
	if len(q.others) > 0 && (w == nil || q.others[0].before(w)) {
		w, inRing = &q.others[0], false
	}
	return w, inRing
}

// pop removes the first packet of the ring, but not its record.
func (q *sortQueue) pop() *waiting {
	w := &q.ring[q.first]
	q.used -= cellsOf(w.frame.RecordLen)
	q.len--
	if q.first++; q.first == len(q.ring) {
		q.first = 0
	}
	return w
}

// chunkBytes is how much memory for records is allocated at a time.
const chunkBytes = 1 << 20

// byteQueue is a queue of bytes, in chunks.
type byteQueue struct {
	chunks     [][]byte // the last are free
	first, len int      // of the bytes in the queue
}

// put adds bytes at the end.
func (q *byteQueue) put(p []byte) {
	for len(p) > 0 {
		end := q.first + q.len
		if end == len(q.chunks)*chunkBytes {
			q.chunks = append(q.chunks, make([]byte, chunkBytes))
		}
		n := copy(q.chunks[end/chunkBytes][end%chunkBytes:], p)
		q.len += n
		p = p[n:]
	}
}

// take moves the first n bytes to the end of to.
func (q *byteQueue) take(to []byte, n int) []byte {
	for q.len -= n; n > 0; {
		chunk := q.chunks[0]
		part := chunk[q.first:min(q.first+n, chunkBytes)]
		to = append(to, part...)
		n -= len(part)
		if q.first += len(part); q.first == chunkBytes {
			copy(q.chunks, q.chunks[1:])
			q.first, q.chunks[len(q.chunks)-1] = 0, chunk
		}
	}
	return to
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
	// chunkCells is how many cells a chunk has.
	chunkCells = chunkBytes / cellSize
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

// cellsOf returns how many cells a record of n bytes takes.
func cellsOf(n uint32) int { return (int(n) + cellSize - 1) / cellSize }

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
		c.chunks = append(c.chunks, make([]byte, chunkBytes))
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

// wholeBatch is a batch of the source that waits as a whole. Its packets, which have times, are in
// order. Nothing else is in its memory.
type wholeBatch struct {
	*capture.Batch
	number uint64 // of the packet before
	cells  int    // that its records would take
}

// last returns the time of the last packet.
func (w *wholeBatch) last() int64 { return w.Frames[len(w.Frames)-1].Time }

// wholePart is the part of the memory that must not be exceeded for a batch to wait as a whole: the
// ring needs all memory beside that of batches that it took over.
const wholePart = 16

// takeWhole lets the batch of the source wait as a whole, unless it is small or out of order, or too
// much waits.
func (s *Sorter) takeWhole() bool {
	q, frames := &s.waiting, s.in.Frames
	if s.frame > 0 || len(s.in.Blocks) > 0 || len(s.in.Buf) < s.least {
		return false
	}
	key, bytes, cells := max(s.left, q.last(), capture.NoTime+1), 0, 0
	for i := range frames {
		if frames[i].Time < key {
			return false
		}
		key = frames[i].Time
		bytes += int(frames[i].RecordLen)
		cells += cellsOf(frames[i].RecordLen)
	}
	if bytes != len(s.in.Buf) || q.bytes()+cells*(cellSize+waitingBytes) > s.cfg.Memory/wholePart {
		return false
	}
	for i := range frames {
		s.latest = s.cfg.latest(s.latest, frames[i].Time)
	}
	q.whole = append(q.whole, wholeBatch{s.in, s.number, cells})
	q.used += cells
	s.key = key
	s.number += uint64(len(frames))
	next := new(capture.Batch)
	if n := len(q.free); n > 0 {
		next, q.free = q.free[n-1], q.free[:n-1]
		next.Reset()
	}
	next.Interfaces, next.Sections = s.in.Interfaces, s.in.Sections
	s.in = next
	return true
}

// leaveWhole delivers the first batch if none of its packets need wait, and b is empty. It reports
// whether b has room for more.
func (s *Sorter) leaveWhole(b *capture.Batch, until int64) bool {
	q, w := &s.waiting, &s.waiting.whole[0]
	if w.last() > until {
		return len(b.Buf) < mergeTarget
	}
	if len(b.Frames)+len(b.Blocks) == 0 {
		s.left = w.last()
		q.used -= w.cells
		*b, *w.Batch = *w.Batch, *b
		q.free = append(q.free, w.Batch)
		q.whole = q.whole[:copy(q.whole, q.whole[1:])]
	}
	return false
}

// takeApart puts the packets that wait in batches into the ring. It reports false if there are none.
func (s *Sorter) takeApart() bool {
	q := &s.waiting
	for _, w := range q.whole {
		q.used -= w.cells
		for i := range w.Frames {
			q.push(w.Frames[i].Time, w.number+uint64(i)+1, &w.Frames[i])
		}
		q.records.put(w.Buf)
		q.free = append(q.free, w.Batch)
	}
	found := len(q.whole) > 0
	q.whole = q.whole[:0]
	return found
}
