// SPDX-License-Identifier: Apache-2.0

package pcapfile

import "github.com/flowdedup/flowdedup/capture"

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
