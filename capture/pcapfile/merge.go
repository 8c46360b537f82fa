// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"io"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
)

// mergeTarget is about how many bytes of records a merged batch holds.
const mergeTarget = DefaultChunkSize

// merger is the Source of several sources in the order of time.
type merger struct {
	multiSource
	warn     func(error)
	heap     mergeHeap
	drained  *mergeInput // its batch has been delivered; to be read before going on
	started  bool
	recycled []capture.Batch // memory of inputs that have ended
}

// mergeInput is a source and the batch that it is being delivered from.
type mergeInput struct {
	src   capture.Source
	index int // among the sources
	num   *renumbering
	join  *multiSource // of Merge, else nil
	owner *arrival     // of Arrivals, else nil
	batch capture.Batch
	frame int   // first frame of batch not delivered yet
	block int   // likewise
	key   int64 // time of the next packet; NoTime if it is to come at once
}

// Merge returns the packets of all sources in the order of their times. At equal times the
// source given first comes first. A block, or a frame without a time, follows its predecessor
// in the source directly. The order within a source stays: where its times step back, so do
// the times of the result. Merge renumbers sections, interfaces and capture points. The tables
// of the first batch have the headers of all inputs.
//
// Merge copies records as they were read, in runs as long as one source is ahead of the
// others. Memory is one batch for each source whose packets have begun: see MergeChunkSize.
// Sources that are parked when Merge is called open at the time of their first packet: see
// Park.
//
// A source continues an earlier source, as the files of a rotated capture do, if the earlier source
// has ended, not after the first packet of the later source, and began with the same interfaces:
// format, link types and names. Then both have the same capture.Interface.Origin. At most one source
// continues a source. If several could be continued, the nearest name decides (the longest common
// prefix), then the latest end.
//
// A source that fails does not stop the others: warn, if not nil, gets the error at once.
// The error then takes the place of io.EOF at the end, or errors.Join of several. The
// result owns the sources: its Close closes them.
func Merge(sources []capture.Source, warn func(error)) capture.Source {
	return &merger{multiSource: newMultiSource(sources), warn: warn}
}

// Next delivers about mergeTarget bytes. It delivers fewer if it would have to read a source
// again: packets do not wait for a slow pipe. See Source.
func (m *merger) Next(b *capture.Batch) error {
	b.Reset()
	if !m.started {
		m.started = true
		for i, src := range m.sources {
			in := &mergeInput{src: src, index: i, num: &m.maps[i], join: &m.multiSource}
			if m.begin(in) {
				m.heap.push(in)
			}
		}
	}
	if in := m.drained; in != nil {
		m.drained = nil
		if m.read(in) {
			m.heap.push(in)
		}
	}
	for len(m.heap) > 0 && m.drained == nil && len(b.Buf) < mergeTarget {
		if in, drained := m.heap.deliver(b, math.MaxInt64); drained {
			m.drained = in
		}
	}
	b.Interfaces, b.Sections = m.tables()
	if len(m.heap) == 0 && m.drained == nil && len(b.Frames) == 0 && len(b.Blocks) == 0 {
		return m.outcome()
	}
	return nil
}

// begin gets the first batch of in. From a parked input it reads compressed.HeadSize bytes, and parks
// it again: its turn may come much later.
func (m *merger) begin(in *mergeInput) bool {
	r, ok := in.src.(*reader)
	if !ok || !r.in.parked {
		return m.read(in)
	}
	chunkSize := r.chunkSize
	r.chunkSize = compressed.HeadSize
	found := m.read(in)
	r.chunkSize = chunkSize
	if found {
		r.in.park()
		in.batch.Buf, in.batch.Frames = slices.Clone(in.batch.Buf), slices.Clone(in.batch.Frames)
		in.batch.SourceState = nil
	}
	return found
}

// read gets the next batch of in that holds anything. It reports false when the
// source has ended.
func (m *merger) read(in *mergeInput) bool {
	in.num.part.last = lastTime(in.batch.Frames, in.num.part.last)
	if n := len(m.recycled); n > 0 && in.batch.SourceState == nil {
		in.batch, m.recycled = m.recycled[n-1], m.recycled[:n-1]
	}
	for {
		err := in.src.Next(&in.batch)
		if err != nil {
			m.finish(in.num)
			m.recycled = append(m.recycled, in.batch)
			in.batch = capture.Batch{}
			if err != io.EOF {
				m.errs = append(m.errs, err)
				if m.warn != nil {
					m.warn(err)
				}
			}
			return false
		}
		m.extend(in.num, in.batch.Interfaces, in.batch.Sections)
		in.frame, in.block = 0, 0
		if in.setKey() {
			return true
		}
	}
}

// setKey finds the time of the next item of the batch, and reports whether there is a next item.
func (in *mergeInput) setKey() bool {
	switch {
	case in.blockNext():
		in.key = capture.NoTime // before every time, so at once
	case in.frame < len(in.batch.Frames):
		in.key = in.batch.Frames[in.frame].Time
	default:
		return false
	}
	return true
}

func (in *mergeInput) blockNext() bool {
	return in.block < len(in.batch.Blocks) && int(in.batch.Blocks[in.block].Before) <= in.frame
}

// run delivers packets up to the limit, as far as b has room.
func (in *mergeInput) run(b *capture.Batch, limit int64) {
	num := in.num
	for len(b.Buf) < mergeTarget {
		switch {
		case in.blockNext():
			in.copyBlock(b, num)
		case in.frame < len(in.batch.Frames) && in.batch.Frames[in.frame].Time <= limit:
			if in.join != nil && !num.part.begun {
				in.join.begin(num, in.batch.Frames[in.frame].Time)
			}
			in.copyFrames(b, num, limit)
		default:
			return
		}
	}
}

func (in *mergeInput) copyBlock(b *capture.Batch, num *renumbering) {
	k := appendBlock(b, &in.batch, in.block)
	k.Section = num.sections[k.Section]
	in.block++
}

// appendBlock appends block i of from to to, and returns the new block.
func appendBlock(to, from *capture.Batch, i int) *capture.Block {
	k := from.Blocks[i]
	k.Offset, k.Before = uint32(len(to.Buf)), uint32(len(to.Frames))
	to.Buf = append(to.Buf, from.Block(i)...)
	to.Blocks = append(to.Blocks, k)
	return &to.Blocks[len(to.Blocks)-1]
}

// copyFrames delivers frames up to the limit, the next block, the end of adjacent records,
// or until b is full. It copies their bytes as one range.
func (in *mergeInput) copyFrames(b *capture.Batch, num *renumbering, limit int64) {
	frames := in.batch.Frames[in.frame:]
	if in.block < len(in.batch.Blocks) {
		frames = frames[:int(in.batch.Blocks[in.block].Before)-in.frame]
	}
	begin, end := frames[0].Record, frames[0].Record
	full := end + uint32(max(1, mergeTarget-len(b.Buf)))
	shift := uint32(len(b.Buf)) - begin // modulo 1<<32, as are the sums with it
	n := 0
	for n < len(frames) && frames[n].Time <= limit && frames[n].Record == end && end < full {
		f := frames[n]
		end += f.RecordLen
		f.Record += shift
		f.Data += shift
		f.Interface = num.ifaces[f.Interface]
		b.Frames = append(b.Frames, f)
		n++
	}
	b.Buf = append(b.Buf, in.batch.Buf[begin:end]...)
	in.frame += n
}

// before orders inputs by the time of their next packet, then by the order in which they were
// given.
func (in *mergeInput) before(other *mergeInput) bool {
	if in.key != other.key {
		return in.key < other.key
	}
	return in.index < other.index
}

// mergeHeap holds inputs that have something to deliver. The next input is on top.
type mergeHeap []*mergeInput

// limit returns the latest time at which the input on top still comes before all others.
func (h mergeHeap) limit() int64 {
	if len(h) == 1 {
		return math.MaxInt64
	}
	next := h[1]
	if len(h) > 2 && h[2].before(next) {
		next = h[2]
	}
	if h[0].index < next.index {
		return next.key
	}
	return next.key - 1 // no underflow: the top is before next, so next has a time
}

// deliver delivers from the input on top the packets before all others and not after until. It
// reports whether the input has nothing more; it is no longer in the heap then.
func (h *mergeHeap) deliver(b *capture.Batch, until int64) (in *mergeInput, drained bool) {
	in = (*h)[0]
	in.run(b, min(h.limit(), until))
	if in.setKey() {
		h.siftDown(0)
		return in, false
	}
	h.pop()
	return in, true
}

// push adds an input.
func (h *mergeHeap) push(in *mergeInput) {
	*h = append(*h, in)
	all := *h
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if all[parent].before(all[i]) {
			return
		}
		all[parent], all[i] = all[i], all[parent]
		i = parent
	}
}

// pop removes the input on top.
func (h *mergeHeap) pop() {
	all := *h
	last := len(all) - 1
	all[0] = all[last]
	all[last] = nil
	*h = all[:last]
	h.siftDown(0)
}

// siftDown restores the heap below i after the key there has changed.
func (h mergeHeap) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if h[i].before(h[child]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// lastTime returns the time of the last frame of the batch.
func (in *mergeInput) lastTime() int64 {
	if n := len(in.batch.Frames); n > 0 {
		return in.batch.Frames[n-1].Time
	}
	return capture.NoTime
}
