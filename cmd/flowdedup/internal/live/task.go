package live

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
)

// step is how many packets are read at a time: what is between frames and digests stays
// in the first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	run     *runner
	judged  *dedup.Packets
	counted *distinct.Packets // nil where nothing is counted
	sampler *diffs.Sampler
	drop    []uint64
}

func newTask(r *runner) *task {
	t := &task{run: r, judged: r.judging.NewPackets(), sampler: diffs.NewSampler(r.judging.NewDecoder())}
	if r.counting != nil {
		t.counted = r.counting.NewPackets()
	}
	return t
}

// Prepare decodes the packets, and digests them and their keys.
func (t *task) Prepare(b *capture.Batch) {
	n := len(b.Frames)
	t.judged.Reset(n)
	t.sampler.Reset(n)
	if t.counted != nil {
		t.counted.Reset(t.judged.Times())
	}
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		t.sampler.Add(b, from, t.judged.Read(b, from, to))
		if t.counted != nil {
			t.counted.Read(b, from, to)
		}
	}
}

// Apply judges and counts the packets.
func (t *task) Apply(b *capture.Batch) error {
	r := t.run
	t.drop = t.judged.Judge(b)
	r.diffs.Add(t.sampler, t.drop)
	if t.counted != nil {
		if err := t.counted.Count(b, t.drop); err != nil {
			return err
		}
	}
	now := time.Now()
	if err := r.state.look(now); err != nil {
		return err
	}
	return r.watch.look(now)
}

// Write writes the packets that go somewhere.
func (t *task) Write(b *capture.Batch) error { return t.run.outputs.Write(b, t.drop) }
