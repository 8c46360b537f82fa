package multikey

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/sliding"
)

// counterOfCounts counts how often it is asked for its count.
type counterOfCounts struct {
	slidingCounter
	asked int
}

func (c *counterOfCounts) Count(now int64) engine.Counts {
	c.asked++
	return c.slidingCounter.Count(now)
}

// TestSilentSlides emits counts at each slide of a silent stretch without counting anew, as
// nothing enters or leaves the window.
func TestSilentSlides(t *testing.T) {
	const window = 4096 // slides
	var packets []uint64
	emit := func(_, _ int64, counts []Count) error {
		if packets = append(packets, counts[0].Packets); len(counts) != 1 || counts[0].Distinct != 1 {
			t.Errorf("slide %d: %+v", len(packets), counts)
		}
		return nil
	}
	s := newSlides(&Config{
		Keys: []Key{{Name: "mac", MAC: true, PerPacket: 2}}, Window: window * time.Second, Slide: time.Second, Method: methodExact,
	}, emit)
	counter := &counterOfCounts{slidingCounter: sliding.NewMap(window * time.Second)}
	family := &s.keys[0].mac
	family.counter, family.packets.bySlide = counter, make([]uint64, window)
	for _, second := range []int64{0, 4000, 8095} {
		at := second * int64(time.Second)
		s.advance(at)
		s.addQuarantined(quarantinedPacket{time: at, counted: 1, elements: []quarantinedElements{{family, []digest.Digest{{1, 2}}}}})
	}
	want := slices.Concat(slices.Repeat([]uint64{1}, 4000), slices.Repeat([]uint64{2}, 96), slices.Repeat([]uint64{1}, 3999), []uint64{2})
	if err := s.close(); err != nil || !slices.Equal(packets, want) {
		t.Errorf("%d counts, want %d, %v", len(packets), len(want), err)
	}
	if counter.asked > 8 {
		t.Errorf("counted %d times for %d slides", counter.asked, len(packets))
	}
}
