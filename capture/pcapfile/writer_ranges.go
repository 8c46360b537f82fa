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

// frames adds the kept frames of pos..end-1.
func (r *ranges) frames(frames []capture.Frame, drop []uint64, pos, end int) {
	for lo, hi := capture.NextRun(drop, pos, end); lo < end; lo, hi = capture.NextRun(drop, hi, end) {
		r.run(frames[lo:hi])
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

// add adds a range.
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
