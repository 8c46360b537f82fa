// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/reassemble"
)

// encoding is the part of a Write that needs no other batch: it counts packets, and encodes them
// for the output of kept packets. All that is left is to pass these bytes on.
type encoding struct {
	set           *Set
	batch         *capture.Batch // encoded, not written; nil if none is
	inverted      []uint64       // a bit for each packet that is kept
	kept, removed traffic
	to            *output // gets records; nil if none does
	records       pcapfile.Records
}

// NewEncoding returns a writer for a task: see dedup.Detector.Tasks. The files must be open.
func (s *Set) NewEncoding() dedup.Encoding { return &encoding{set: s} }

// Encode implements dedup.Encoding. It leaves packets to Write that lose headers, are cut, or were
// put together.
func (e *encoding) Encode(b *capture.Batch, drop []uint64) {
	s := e.set
	if len(s.outputs) == 0 || s.stripper != nil || s.slicer != nil || s.cfg.Reassembled && reassemble.Any(b) {
		return
	}
	e.batch, e.to = b, nil
	e.invert(b, drop)
	e.count(b, drop)
	for _, o := range s.outputs {
		if o.records != nil && o.records.Gather(&e.records, b, drop) {
			e.to = o
			return
		}
	}
}

// Write implements dedup.Encoding.
func (e *encoding) Write(b *capture.Batch, drop []uint64) error {
	if e.batch != b {
		return e.set.Write(b, drop)
	}
	e.batch = nil
	return e.set.write(b, drop, e)
}

func (e *encoding) invert(b *capture.Batch, drop []uint64) {
	e.inverted = capture.Complement(e.inverted, drop, len(b.Frames))
}

func (e *encoding) count(b *capture.Batch, drop []uint64) {
	e.removed = trafficOf(b, drop)
	e.kept = trafficBut(b, e.removed)
}

// writeTo writes the batch to an output.
func (e *encoding) writeTo(o *output, b *capture.Batch, drop []uint64) error {
	if o == e.to {
		return o.records.WriteRecords(&e.records)
	}
	return o.Write(b, drop)
}
