package distinct

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// sightings are the first sightings of a window among packets of a batch. Elements are
// counted key by key, so these wait here until all keys are done: they are told in the order
// of the stream, which does not depend on where batches end.
type sightings []sighting

// sighting is an element that was not seen before.
type sighting struct {
	frame uint32 // its packet, counted from the batch's first
	of    string
	value string
}

// add enters each element of a key whose bit in seen is clear. frames says which packet an
// element comes from, and value formats it.
func (s *sightings) add(key *flow.KeyConfig, seen []uint64, frames []uint32, value func(i int) string) {
	of := key.Of.String()
	for w, word := range seen {
		fresh := ^word
		if left := len(frames) - 64*w; left < 64 {
			fresh &= 1<<left - 1
		}
		for ; fresh != 0; fresh &= fresh - 1 {
			i := 64*w + bits.TrailingZeros64(fresh)
			*s = append(*s, sighting{frames[i], of, value(i)})
		}
	}
}

// tell tells all and forgets them: packet by packet, and those of one packet in the order in
// which they were added.
func (s *sightings) tell(w *window, b *capture.Batch, zone *time.Location, each func(*Sighting) error) error {
	slices.SortStableFunc(*s, func(a, b sighting) int { return cmp.Compare(a.frame, b.frame) })
	start := w.start
	if w.whole {
		start = capture.NoTime // not known before the end
	}
	from := stamp.Format(start, zone)
	for _, one := range *s {
		err := each(&Sighting{
			WindowStart: from, Of: one.of, Value: one.value,
			FirstSeen: stamp.Format(calendar.Usable(b.Frames[one.frame].Time), zone),
		})
		if err != nil {
			return err
		}
	}
	*s = (*s)[:0]
	return nil
}
