// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// PacketWriter takes batches: each packet whose bit in drop is 0, and all for a nil drop, as
// a capture.Writer does.
type PacketWriter interface {
	Write(b *capture.Batch, drop []uint64) error
}

// Encoding is a PacketWriter for one task, which does a part of Write before the batches before
// have been written.
type Encoding interface {
	// Encode does a part of Write for a batch and its verdicts, which will not change. Other
	// batches are encoded or written meanwhile. Write follows, unless writing has ended.
	Encode(b *capture.Batch, drop []uint64)
	// Write takes any batch, encoded or not.
	PacketWriter
}

// Tasks returns the function that makes the tasks of a pipeline. They write the packets that
// stay to w: see BatchDetector.Write. When pipeline.Pipeline.Run returns, every judged batch has
// been written. If w has the method GiveUp of a pipeline.Abandoner, the tasks have it, too. If w has
// the method NewEncoding, each task writes to an Encoding of its own, and Judge encodes batches while
// batches before them are written.
func (d *Detector) Tasks(w PacketWriter) func() pipeline.Task {
	if a, ok := w.(interface{ GiveUp() <-chan struct{} }); ok {
		return func() pipeline.Task { return &abandonedTask{*d.newTask(w), a.GiveUp()} }
	}
	return func() pipeline.Task { return d.newTask(w) }
}

func (d *Detector) newTask(w PacketWriter) *task {
	t := &task{BatchDetector: d.NewBatchDetector(), to: w}
	if e, ok := w.(interface{ NewEncoding() Encoding }); ok {
		t.encoding = e.NewEncoding()
		t.to = t.encoding
	}
	return t
}

// task is the work on one batch.
type task struct {
	*BatchDetector
	to       PacketWriter
	encoding Encoding // to, or nil
}

// Judge judges the packets, and encodes the ones that stay if that is final.
func (t *task) Judge(b *capture.Batch) error {
	t.BatchDetector.Judge(b)
	if drop, final := t.settled(); final && t.encoding != nil {
		t.encoding.Encode(b, drop)
	}
	return nil
}

// Write writes the packets that stay, as far as that is known.
func (t *task) Write(b *capture.Batch) error { return t.BatchDetector.Write(b, t.to) }

// Finish writes the waiting batches.
func (t *task) Finish() error { return t.detector.Finish(t.to) }

// abandonedTask is a task whose Write may hang.
type abandonedTask struct {
	task
	giveUp <-chan struct{}
}

// GiveUp returns when a Write is left behind if it hangs.
func (t *abandonedTask) GiveUp() <-chan struct{} { return t.giveUp }
