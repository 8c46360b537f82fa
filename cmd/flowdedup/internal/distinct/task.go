package distinct

import "github.com/flowdedup/flowdedup/capture"

// step is how many packets are decoded at a time: what is known of them stays in the
// first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	packets *Packets
}

// Prepare decodes the packets and digests their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.packets.Reset(len(b.Frames), nil)
	for from := 0; from < len(b.Frames); from += step {
		t.packets.Read(b, from, min(from+step, len(b.Frames)))
	}
}

// Apply counts the elements.
func (t *task) Apply(b *capture.Batch) error { return t.packets.Count(b, nil) }

// Write does nothing: a list is written while elements are counted.
func (t *task) Write(*capture.Batch) error { return nil }
