package distinct

import (
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
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

// TestSilentSlides tells a row at each slide of a silent stretch without counting anew, as
// nothing enters or leaves the window.
func TestSilentSlides(t *testing.T) {
	const window = 4096 // slides
	var packets []uint64
	s := newSlidingCounting(&Config{
		Keys: []flow.KeyConfig{{Of: flow.MACs}}, Window: window * time.Second, Slide: time.Second, Method: methodExact,
		Rows: func(told []Row) error {
			if packets = append(packets, told[0].Packets); len(told) != 1 || told[0].Distinct != 1 {
				t.Errorf("row %d: %+v", len(packets), told)
			}
			return nil
		},
	}, time.UTC)
	counter := &counterOfCounts{slidingCounter: engine.NewSlidingSet(window * time.Second)}
	family := &s.keys[0].mac
	family.counter, family.packets.bySlide = counter, make([]uint64, window)
	for _, second := range []int64{0, 4000, 8095} {
		at := second * int64(time.Second)
		s.goTo(at)
		s.enterHeld(heldPacket{time: at, counted: 1, elements: []heldElements{{family, []asm.Digest{{1, 2}}}}})
	}
	want := slices.Concat(slices.Repeat([]uint64{1}, 4000), slices.Repeat([]uint64{2}, 96), slices.Repeat([]uint64{1}, 3999), []uint64{2})
	if err := s.close(); err != nil || !slices.Equal(packets, want) {
		t.Errorf("%d rows, want %d, %v", len(packets), len(want), err)
	}
	if counter.asked > 8 {
		t.Errorf("counted %d times for %d rows", counter.asked, len(packets))
	}
}
