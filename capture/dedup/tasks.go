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

// Tasks returns the function that makes the tasks of a pipeline. They write the packets that
// stay to w: see BatchDetector.Write. When Pipeline.Run returns, every judged batch has been
// written. If w has the method GiveUp of a pipeline.Abandoner, the tasks have it, too.
func (d *Detector) Tasks(w PacketWriter) func() pipeline.Task {
	if a, ok := w.(interface{ GiveUp() <-chan struct{} }); ok {
		return func() pipeline.Task { return &abandonedTask{task{d.NewBatchDetector(), w}, a.GiveUp()} }
	}
	return func() pipeline.Task { return &task{d.NewBatchDetector(), w} }
}

// task is the work on one batch.
type task struct {
	*BatchDetector
	to PacketWriter
}

// Judge judges the packets.
func (t *task) Judge(b *capture.Batch) error {
	t.BatchDetector.Judge(b)
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
