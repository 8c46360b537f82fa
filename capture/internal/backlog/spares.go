// SPDX-License-Identifier: Apache-2.0

package backlog

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
)

const (
	frameBytes = int(unsafe.Sizeof(capture.Frame{}))
	// sourceBytes is about the memory that a source keeps with a batch.
	sourceBytes = 640 << 10
	// mostSpare bounds the memory of batches that do not wait.
	mostSpare = 32 << 20
)

// spares are batches that do not wait, whose memory is used again. Those with memory of a
// source go back to it. A copy does not get one, since it would take little of that memory.
type spares struct {
	sources, copies []capture.Batch
	bytes           int
}

// put takes a batch, unless there is enough.
func (s *spares) put(b capture.Batch) {
	n := memoryOf(&b)
	if n == 0 || s.bytes+n > mostSpare {
		return
	}
	s.bytes += n
	if b.SourceState != nil {
		s.sources = append(s.sources, b)
	} else {
		s.copies = append(s.copies, b)
	}
}

// take returns a batch for a source, or for a copy: an empty one if there is no other.
func (s *spares) take(source bool) (b capture.Batch) {
	from := &s.copies
	if source {
		from = &s.sources
	}
	last := len(*from) - 1
	if last < 0 {
		return capture.Batch{}
	}
	b, (*from)[last] = (*from)[last], b
	*from = (*from)[:last]
	s.bytes -= memoryOf(&b)
	return b
}

// memoryOf returns about how many bytes a batch takes.
func memoryOf(b *capture.Batch) int {
	n := cap(b.Buf) + cap(b.Frames)*frameBytes
	if b.SourceState != nil {
		n += sourceBytes
	}
	return n
}
