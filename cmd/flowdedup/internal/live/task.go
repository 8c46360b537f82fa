package live

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
)

// step is how many packets are decoded at a time: their headers stay in the
// first-level cache until they were digested and keyed.
const step = 512

// task is the work on one batch.
type task struct {
	run     *runner
	judged  *dedup.Packets
	counted *distinct.Packets // nil where nothing is counted
	sampler *sampler
	headers [step]flow.Header
	drop    []uint64
}

func newTask(r *runner) *task {
	t := &task{run: r, judged: r.judging.NewPackets(), sampler: r.reasons.newSampler()}
	if r.counting != nil {
		t.counted = r.counting.NewPackets()
	}
	return t
}

// Prepare decodes the packets, and digests them and their keys.
func (t *task) Prepare(b *capture.Batch) {
	n := len(b.Frames)
	t.judged.Reset(n)
	t.sampler.reset()
	if t.counted != nil {
		t.counted.Reset(b)
	}
	for from := 0; from < n; from += step {
		headers := t.headers[:min(step, n-from)]
		t.run.decoder.Decode(headers, b, from)
		t.sampler.add(b, from, headers, t.judged.Add(b, from, headers))
		if t.counted != nil {
			t.counted.Add(b, from, headers)
		}
	}
}

// Apply judges and counts the packets.
func (t *task) Apply(b *capture.Batch) error {
	r := t.run
	t.drop = t.judged.Judge(b)
	r.reasons.enter(t.sampler.samples, t.drop)
	if t.counted != nil {
		if err := t.counted.Count(b, t.drop); err != nil {
			return err
		}
	}
	return r.watch.look(time.Now())
}

// Write writes the packets that go somewhere.
func (t *task) Write(b *capture.Batch) error { return t.run.outputs.write(b, t.drop) }
