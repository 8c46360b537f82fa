package distinct

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// step is how many packets are decoded at a time: what is known of them stays in the
// first-level cache.
const step = 512

// task is the work on one batch.
type task struct {
	packets *Packets
	told    func() error // Config.Told
	times   []int64
}

// usableTimes appends the times of frames, as far as they may be relied on.
func usableTimes(times []int64, frames []capture.Frame) []int64 {
	times = slices.Grow(times, len(frames))
	for i := range frames {
		times = append(times, calendar.Usable(frames[i].Time))
	}
	return times
}

// Prepare decodes the packets and digests their keys.
func (t *task) Prepare(b *capture.Batch) {
	t.times = usableTimes(t.times[:0], b.Frames)
	t.packets.Reset(t.times)
	for from := 0; from < len(b.Frames); from += step {
		t.packets.Read(b, from, min(from+step, len(b.Frames)))
	}
}

// Apply counts the elements.
func (t *task) Apply(b *capture.Batch) error {
	if err := t.packets.Count(b, nil); err != nil || t.told == nil {
		return err
	}
	if err := t.told(); err != nil {
		return &OutputError{err}
	}
	return nil
}

// Write does nothing: a list is written while elements are counted.
func (t *task) Write(*capture.Batch) error { return nil }
