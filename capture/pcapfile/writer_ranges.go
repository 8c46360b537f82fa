// SPDX-License-Identifier: Apache-2.0

package pcapfile

import "github.com/flowdedup/flowdedup/capture"

// ranges joins records and blocks that are adjacent in Batch.Buf.
type ranges struct {
	to  rangeTaker
	buf []byte // Buf of the batch
	// buf[first:last] is the range that grows as long as the next bytes are adjacent.
	first, last uint32
	packets     int // in that range
}

// rangeTaker takes whole records and blocks, with this number of packets among them.
type rangeTaker interface{ put(p []byte, packets int) }

func (r *ranges) begin(b *capture.Batch) { r.buf, r.first, r.last = b.Buf, 0, 0 }

func (r *ranges) end() {
	r.flush()
	r.buf = nil
}

// frames adds the kept ones of frames pos..end-1.
func (r *ranges) frames(frames []capture.Frame, drop []uint64, pos, end int) {
	for pos < end {
		lo, hi := capture.NextRun(drop, pos, end)
		if lo < hi {
			r.run(frames[lo:hi])
		}
		pos = hi
	}
}

// run adds frames that are all kept.
func (r *ranges) run(frames []capture.Frame) {
	from, to, counted := r.first, r.last, 0
	for i := range frames {
		f := &frames[i]
		if f.Record != to {
			r.first, r.last = from, to
			r.packets += i - counted
			r.flush()
			from, counted = f.Record, i
			to = from
		}
		to += f.RecordLen
	}
	r.first, r.last = from, to
	r.packets += len(frames) - counted
}

// add adds one range.
func (r *ranges) add(offset, n uint32) {
	if offset != r.last {
		r.flush()
		r.first, r.last = offset, offset
	}
	r.last += n
}

// flush writes the range gathered so far.
func (r *ranges) flush() {
	if r.first < r.last {
		r.to.put(r.buf[r.first:r.last], r.packets)
		r.packets = 0
	}
	r.first = r.last
}

// RecordWriter is a Writer that may write what another goroutine has gathered. NewWriter makes
// one.
type RecordWriter interface {
	capture.Writer
	// Copies reports whether Write would copy the records of b as they are, and nothing else.
	// Then WriteRecords may take the place of Write for it. Any goroutine may call Copies, also
	// before the batches before b have been written. It returns false if that depends on them.
	Copies(b *capture.Batch) bool
	// WriteRecords is Write for a batch whose kept records r has.
	WriteRecords(r *Records) error
}

// Records are the kept records of a batch, gathered for a RecordWriter. The zero value is empty.
// It is for one goroutine at a time.
type Records struct {
	pieces []piece
	room   int    // the most bytes of memory that pieces need
	memory []byte // below the pieces that are no part of Batch.Buf
	copies bool   // the last piece is one of them
}

// maxRecords bounds the memory of Records. Batches are larger only where packets or blocks are.
const maxRecords = 4 * outBufferSize

// piece is whole records that are written at once.
type piece struct {
	bytes   []byte
	packets int
}

// Gather gathers the records of the frames of b that drop keeps, in the place of what was
// there. They are valid as long as b.Buf does not change. Gather copies records of short ranges,
// so it may need as much memory as b.Buf; it allocates only if that has to grow.
func (r *Records) Gather(b *capture.Batch, drop []uint64) {
	r.pieces, r.room, r.memory, r.copies = r.pieces[:0], len(b.Buf), r.memory[:0], false
	all := ranges{to: r}
	all.begin(b)
	all.frames(b.Frames, drop, 0, len(b.Frames))
	all.end()
}

// put adds a piece, or a copy to the last one where that takes less time.
func (r *Records) put(p []byte, packets int) {
	if len(p) >= directSize {
		r.pieces, r.copies = append(r.pieces, piece{p, packets}), false
		return
	}
	if len(r.memory) == 0 {
		r.memory = capture.Resize(r.memory, r.room)[:0]
	}
	at := len(r.memory)
	if r.memory = append(r.memory, p...); !r.copies {
		r.pieces, r.copies = append(r.pieces, piece{bytes: r.memory[at:at]}), true
	}
	last := &r.pieces[len(r.pieces)-1]
	last.bytes = last.bytes[:len(last.bytes)+len(p)]
	last.packets += packets
}
