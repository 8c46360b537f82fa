package dedup

import "github.com/flowdedup/flowdedup/capture"

// step is how many packets go through decoding and digests at a time: the arrays
// in between stay in the first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	run     *runner
	packets *Packets
	drop    []uint64
}

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) {
	n := len(b.Frames)
	t.packets.Reset(n)
	for from := 0; from < n; from += step {
		t.packets.Read(b, from, min(from+step, n))
	}
}

// Apply judges the packets.
func (t *task) Apply(b *capture.Batch) error {
	t.drop = t.packets.Judge(b)
	t.run.inputs.add(b, t.drop)
	return nil
}

// Write writes the packets that go somewhere.
func (t *task) Write(b *capture.Batch) error { return t.run.outputs.Write(b, t.drop) }
