package distinct

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
)

// sighter tells the first sightings among packets of a batch.
type sighter struct {
	r   *Counting
	w   *window
	b   *capture.Batch
	key *flow.KeyConfig
}

// report tells each element whose bit in seen is clear. frames says which
// packet of the batch an element comes from, and value formats it.
func (s *sighter) report(seen []uint64, frames []uint32, value func(i int) string) error {
	for w, word := range seen {
		fresh := ^word
		if left := len(frames) - 64*w; left < 64 {
			fresh &= 1<<left - 1
		}
		for ; fresh != 0; fresh &= fresh - 1 {
			i := 64*w + bits.TrailingZeros64(fresh)
			if err := s.tell(i, frames, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sighter) tell(i int, frames []uint32, value func(i int) string) error {
	start := s.w.start
	if s.w.whole {
		start = capture.NoTime // not known before the end
	}
	return s.r.cfg.Sighting(&Sighting{
		WindowStart: stamp.Format(start, s.r.loc),
		Of:          s.key.Of.String(),
		Value:       value(i),
		FirstSeen:   stamp.Format(stamp.Usable(s.b.Frames[frames[i]].Time), s.r.loc),
	})
}
