package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// Tasks makes the tasks of a pipeline that writes the packets which are no copies to w.
func (d *Detector) Tasks(w capture.Writer) func() pipeline.Task {
	return func() pipeline.Task { return &task{packets: d.NewBatchDetector(), to: w} }
}

// task is the work on one batch.
type task struct {
	packets *BatchDetector
	to      capture.Writer
	drop    []uint64
}

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) { t.packets.Prepare(b) }

// Apply judges the packets.
func (t *task) Apply(b *capture.Batch) error {
	t.drop = t.packets.Judge(b)
	return nil
}

// Write writes the packets that stay.
func (t *task) Write(b *capture.Batch) error { return t.to.Write(b, t.drop) }
