// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// RecordWriter is a Writer that may write what other goroutines have encoded. NewWriter returns a
// RecordWriter.
type RecordWriter interface {
	capture.Writer
	// Gather puts the records that Write would write for b into r, and reports whether it
	// could: whether b has nothing else, and they do not depend on batches that are still to be
	// written. Then WriteRecords may take the place of Write. Any goroutine may call it, also
	// while the batches before are written.
	Gather(r *Records, b *capture.Batch, drop []uint64) bool
	// WriteRecords is Write for the batch whose kept records r has.
	WriteRecords(r *Records) error
}

// gatherRules says how the records of a batch are written.
type gatherRules struct {
	sections int      // in which they may be
	targets  []target // by interface, all of pcap; nil if records are copied
}

// Records are the kept records of a batch, encoded for a RecordWriter. They are valid as long as
// capture.Batch.Buf does not change. The zero value is empty. It is for one goroutine at a time, and
// keeps its memory, at most some 2 MiB, for the next batch.
type Records struct {
	pieces []piece
	memory []byte // below the pieces that are no part of Batch.Buf
	room   int    // the most bytes of memory that pieces need
	copies bool   // the last piece is in memory
	last   int64  // time of the last record that was converted, or NoTime
}

// maxRecords bounds batches whose records are gathered. They are larger only where packets or
// blocks are.
const maxRecords = 4 * outBufferSize

// piece is whole records that are written at once.
type piece struct {
	bytes   []byte
	packets int
}

func (r *Records) reset() {
	r.pieces, r.memory, r.copies, r.last = r.pieces[:0], r.memory[:0], false, capture.NoTime
}

// copy gathers the records as they are.
func (r *Records) copy(b *capture.Batch, drop []uint64) {
	r.reset()
	r.room = len(b.Buf)
	all := ranges{to: r}
	all.begin(b)
	all.frames(b.Frames, drop, 0, len(b.Frames))
	all.end()
}

// put adds a piece, or copies it to the end of the last piece where that takes less time.
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

// convert gathers records of pcap as enhanced packet blocks. It returns false if a record has no
// time: it would get the time of the record before, maybe of an earlier batch.
func (r *Records) convert(b *capture.Batch, drop []uint64, targets []target) bool {
	const longer = encoding.MinPacketLen + 3 - pcapRecordLen // with padding
	r.reset()
	r.memory = capture.Resize(r.memory, len(b.Buf)+longer*len(b.Frames))
	used, packets, end := 0, 0, len(b.Frames)
	for lo, hi := capture.NextRun(drop, 0, end); lo < end; lo, hi = capture.NextRun(drop, hi, end) {
		for i := lo; i < hi; i++ {
			f, data := &b.Frames[i], b.Data(i)
			if f.Time == capture.NoTime {
				return false
			}
			p := r.memory[used : used+encoding.MinPacketLen+(len(data)+3)&^3]
			putPcap(p, data, f, &targets[f.Interface], uint64(max(f.Time, 0)))
			used += len(p)
			r.last = f.Time
		}
		packets += hi - lo
	}
	r.pieces = append(r.pieces, piece{r.memory[:used], packets})
	return true
}
