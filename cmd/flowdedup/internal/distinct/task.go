package distinct

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// step is how many packets are decoded at a time: their headers stay in the
// first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	decoder *flow.Decoder
	packets *Packets
	headers [step]flow.Header
}

// Prepare decodes the packets and digests their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.packets.Reset(b)
	for from := 0; from < len(b.Frames); from += step {
		headers := t.headers[:min(step, len(b.Frames)-from)]
		t.decoder.Decode(headers, b, from)
		t.packets.Add(b, from, headers)
	}
}

// Apply counts the elements.
func (t *task) Apply(b *capture.Batch) error { return t.packets.Count(b, nil) }

// Write does nothing: a list is written while elements are counted.
func (t *task) Write(*capture.Batch) error { return nil }
