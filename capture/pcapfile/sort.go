// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"cmp"
	"math"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
)

// SortConfig bounds sorting.
type SortConfig struct {
	// Span is how long a packet waits for earlier packets, in nanoseconds of the packets' own
	// times: until a packet comes that is later by Span.
	Span int64
	// Memory is how many bytes may wait. Then the earliest packets wait no longer. 0 is
	// DefaultSortMemory.
	Memory int
	// Latest takes the time of each packet with a time, and returns the latest time so far.
	// It may leave out times that it takes for false. nil believes all.
	Latest func(time int64) int64
}

// DefaultSortMemory holds a quarter of a second of full packets at 10 Gbit/s.
const DefaultSortMemory = 256 << 20

// SortStats counts packets that a Sorter could not sort.
type SortStats struct {
	// Late counts packets that came after a later packet had left. They leave at once.
	Late  uint64
	First uint64 // the number of the first of them in the input, from 1
	By    int64  // the most nanoseconds by which a packet was late
	Full  bool   // Memory let packets leave early
}

// Sorter is a Source that sorts the packets of a Source by their times, within the bounds of
// SortConfig. Packets of equal times stay in their order. A packet without a time follows
// its predecessor in the source.
//
// The order depends only on the packets, not on how the source delivers them. Blocks overtake
// packets that wait, so the description of a packet comes before it. With one input, whose
// sections a Writer copies, no packet is moved across the header of a section.
//
// Large batches in order wait and leave as a whole, without a copy. Other records are copied twice,
// many at once where they come in order. Memory is SortConfig's and one batch. Nothing is allocated
// once both are full.
type Sorter struct {
	capture.Source
	cfg     SortConfig
	in      *capture.Batch
	frame   int // of in, the next to be taken
	block   int // likewise
	number  uint64
	waiting sortQueue
	key     int64 // of the packet before
	latest  int64 // of the times that are believed
	left    int64 // the time of the latest packet that has left
	barrier bool  // packets do not pass the header of a section
	ended   error // the error at the end of the source
	least   int   // bytes of a batch that waits as a whole

	late, first atomic.Uint64
	by          atomic.Int64
	full        atomic.Bool
}

// Sort returns a Sorter, which owns the source: its Close closes that.
func Sort(src capture.Source, cfg SortConfig) *Sorter {
	cfg.Memory = cmp.Or(cfg.Memory, DefaultSortMemory)
	return &Sorter{
		Source: src, cfg: cfg, in: new(capture.Batch), key: capture.NoTime, latest: math.MinInt64, left: math.MinInt64, barrier: len(src.Inputs()) == 1,
		least: mergeTarget / 2,
	}
}

// latest returns the latest time, given the latest time before and the time of a packet.
func (c *SortConfig) latest(before, time int64) int64 {
	if c.Latest == nil {
		return max(before, time)
	}
	return c.Latest(time)
}

// Stats returns the counts so far. It may be called during Next.
func (s *Sorter) Stats() SortStats {
	return SortStats{Late: s.late.Load(), First: s.first.Load(), By: s.by.Load(), Full: s.full.Load()}
}

// Next delivers about DefaultChunkSize bytes, or fewer if it would have to read the source again.
// See Source.
func (s *Sorter) Next(b *capture.Batch) error {
	b.Reset()
	for s.settle(b) && s.ended == nil {
		switch {
		case s.frame < len(s.in.Frames) || s.block < len(s.in.Blocks):
			s.take(b)
			continue
		case len(b.Frames)+len(b.Blocks) == 0:
			s.read()
			continue
		}
		break
	}
	b.Interfaces, b.Sections = s.in.Interfaces, s.in.Sections
	if len(b.Frames)+len(b.Blocks) == 0 {
		return s.ended
	}
	return nil
}

// read gets the next batch of the source.
func (s *Sorter) read() {
	interfaces, sections := s.in.Interfaces, s.in.Sections
	s.frame, s.block = 0, 0
	if s.ended = s.Source.Next(s.in); s.ended != nil {
		s.in.Reset()
		s.in.Interfaces, s.in.Sections = interfaces, sections // the tables of waiting packets
	}
}

// settle delivers the packets that need not wait any more, or can not. It reports false if b
// has no room for all of them. Where batches end does not decide which packets are late, since
// nothing is taken before all these have left.
func (s *Sorter) settle(b *capture.Batch) bool {
	until := s.until()
	for {
		if q := &s.waiting; q.len == 0 && len(q.whole) > 0 {
			if len(q.others) == 0 || q.others[0].key > q.whole[0].last() {
				return s.leaveWhole(b, until)
			}
			s.takeApart()
		}
		w, inRing := s.waiting.earliest()
		if w == nil {
			return len(b.Buf) < mergeTarget
		}
		early := w.key > until
		switch {
		case early && s.waiting.bytes() <= s.cfg.Memory:
			return len(b.Buf) < mergeTarget
		case len(b.Buf) >= mergeTarget:
			return false
		case early:
			s.full.Store(true)
		}
		if inRing {
			s.leaveRing(b, until)
		} else {
			s.leaveHeap(b)
		}
	}
}

// until returns up to which time packets need not wait.
func (s *Sorter) until() int64 {
	switch {
	case s.ended != nil || s.sectionNext():
		return math.MaxInt64
	case s.latest < math.MinInt64+s.cfg.Span:
		return math.MinInt64
	}
	return s.latest - s.cfg.Span
}

// sectionNext reports whether the header of a section comes next that no packet passes.
func (s *Sorter) sectionNext() bool {
	return s.barrier && s.blockNext() && s.in.Blocks[s.block].Type == capture.BlockSectionHeader
}

func (s *Sorter) blockNext() bool {
	return s.block < len(s.in.Blocks) && int(s.in.Blocks[s.block].Before) <= s.frame
}

// take delivers a block of the source, or lets packets wait: the next packet, and behind it those
// that come in the order of their times, while none has to leave for memory. They are later than all
// that wait, so taken one by one, each before others leave, they would leave in the same order.
func (s *Sorter) take(b *capture.Batch) {
	if s.takeWhole() || s.takeApart() {
		return
	}
	if s.blockNext() {
		appendBlock(b, s.in, s.block)
		s.block++
		return
	}
	q, start, end := &s.waiting, s.frame, len(s.in.Frames)
	if s.block < len(s.in.Blocks) {
		end = min(end, int(s.in.Blocks[s.block].Before))
	}
	from, to := uint32(0), uint32(0) // of in.Buf: records that lie together
	for ordered := true; s.frame < end && ordered; s.frame++ {
		f, key := &s.in.Frames[s.frame], s.key
		if f.Time != capture.NoTime {
			key = f.Time
		}
		ordered = key >= s.left && key >= q.last()
		if s.frame > start && (!ordered || q.bytes()+cellsOf(f.RecordLen)*(cellSize+waitingBytes) > s.cfg.Memory) {
			break
		}
		s.number++
		if s.key = key; f.Time != capture.NoTime {
			s.latest = s.cfg.latest(s.latest, key)
		}
		switch {
		case ordered:
			if q.push(key, s.number, f); f.Record != to {
				q.records.put(s.in.Buf[from:to])
				from = f.Record
			}
			to = f.Record + f.RecordLen
		case key < s.left:
			s.passLate(b, f)
		default:
			q.others.push(waiting{key: key, number: s.number, frame: *f, cell: q.store.put(s.in.Record(s.frame))})
		}
	}
	q.records.put(s.in.Buf[from:to])
}

// passLate delivers a packet that is too late, where it is.
func (s *Sorter) passLate(b *capture.Batch, f *capture.Frame) {
	add(b, *f, func(to []byte) []byte { return append(to, s.in.Record(s.frame)...) })
	if f.Time == capture.NoTime {
		return
	}
	if s.late.Add(1) == 1 {
		s.first.Store(s.number)
	}
	by := s.left - f.Time
	if by < 0 { // beyond 64 bits
		by = math.MaxInt64
	}
	s.by.Store(max(by, s.by.Load()))
}

// leaveHeap delivers the earliest packet, of the heap.
func (s *Sorter) leaveHeap(b *capture.Batch) {
	w := s.waiting.others.pop()
	s.left = w.key
	add(b, w.frame, func(to []byte) []byte { return s.waiting.store.take(to, w.cell, int(w.frame.RecordLen)) })
}

// leaveRing delivers the earliest packet, of the ring, and the packets behind it that need not wait,
// while none of the heap is before them and b has room.
func (s *Sorter) leaveRing(b *capture.Batch, until int64) {
	at, q := uint32(len(b.Buf)), &s.waiting
	for w, inRing := q.earliest(); inRing; {
		q.pop()
		s.left = w.key
		b.Frames = append(b.Frames, w.frame)
		f := &b.Frames[len(b.Frames)-1]
		f.Data += at - f.Record // modulo 1<<32
		f.Record, at = at, at+f.RecordLen
		if w, inRing = q.earliest(); inRing && (w.key > until || at >= mergeTarget) {
			break
		}
	}
	b.Buf = q.records.take(b.Buf, int(at)-len(b.Buf))
}

// add appends a frame, whose record appendTo appends.
func add(b *capture.Batch, f capture.Frame, appendTo func([]byte) []byte) {
	shift := uint32(len(b.Buf)) - f.Record // modulo 1<<32, as are the sums with it
	b.Buf = appendTo(b.Buf)
	f.Record += shift
	f.Data += shift
	b.Frames = append(b.Frames, f)
}
