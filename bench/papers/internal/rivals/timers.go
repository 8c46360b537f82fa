package rivals

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TimersConfig is what a timing Bloom filter is made from.
type TimersConfig struct {
	Lines     int   // at least 1
	LineBits  int   // at least K * TimerBits; a part has floor(LineBits/(K*TimerBits)) timers of each line
	TimerBits int   // from 2 to 8
	K         int   // parts, with one timer of an element each, from 1 to 256
	Equal     int   // timers that must be equal, from 1 (no condition) to K
	Window    int64 // at least 1, in the unit of the times
}

func (c TimersConfig) validate() error {
	if err := requireRange("TimerBits", c.TimerBits, 2, 8); err != nil {
		return err
	}
	if err := requireRange("K", c.K, 1, 256); err != nil {
		return err
	}
	if err := requireRange("Equal", c.Equal, 1, c.K); err != nil {
		return err
	}
	if err := requireRange("LineBits", c.LineBits, c.K*c.TimerBits, maxBits); err != nil {
		return err
	}
	if err := requireRange("Lines", c.Lines, 1, maxBits/c.LineBits); err != nil {
		return err
	}
	return requireRange("Window", c.Window, 1, math.MaxInt64/4)
}

// Timers is a Bloom filter of timers (Koloniari, Ntarmos, Pitoura, Souravlias, One is
// Enough: Distributed Filtering for Duplicate Elimination, section 4): every element
// restarts its K timers, which run out after the window. It is reported if all are
// running and, where Equal is above 1, at least as many show the same time, which is rare
// for timers that different elements started.
//
// With Equal = 1 it misses nothing within the window, and still reports elements of up to
// one tick before, a (2^TimerBits-2)-th of the window. With a higher Equal an element is
// missed when others have restarted too many of its timers.
//
// Interpretation: timers count ticks down from 2^TimerBits - 1, and elements that are
// reported restart theirs too, since the window slides. For speed a timer is stored as
// the tick that it runs out at, which is equivalent.
type Timers struct {
	config TimersConfig
	ends   []int64  // of the timers
	part   uint64   // timers of a part in a line
	tick   int64    // length
	places []uint64 // of the element's timers
}

// NewTimers returns a filter whose timers have all run out. Errors wrap
// [paper.ErrParameter].
func NewTimers(c TimersConfig) (*Timers, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("timing Bloom filter: %w", err)
	}
	part := c.LineBits / (c.K * c.TimerBits)
	return &Timers{
		config: c,
		ends:   make([]int64, c.Lines*c.K*part),
		part:   uint64(part),
		tick:   (c.Window-1)/(1<<c.TimerBits-2) + 1,
		places: make([]uint64, c.K),
	}, nil
}

// TestAndSet implements [Windowed], in time proportional to K^2.
func (t *Timers) TestAndSet(d digest.Digest, now int64) (seen bool) {
	p, tick := hashesOf(d, t.config.Lines), now/t.tick
	for i := range t.places {
		t.places[i] = (p.line*uint64(t.config.K)+uint64(i))*t.part + p.at(i, t.part)
	}
	seen = t.running(tick)
	for _, at := range t.places {
		t.ends[at] = tick + 1<<t.config.TimerBits - 1
	}
	return seen
}

// running reports whether the element's timers say that it was seen.
func (t *Timers) running(tick int64) bool {
	equal := 0
	for _, at := range t.places {
		if t.ends[at] <= tick {
			return false
		}
		same := 0
		for _, other := range t.places {
			if t.ends[other] == t.ends[at] {
				same++
			}
		}
		equal = max(equal, same)
	}
	return equal >= t.config.Equal
}

// Bits implements [Windowed].
func (t *Timers) Bits() int { return t.config.Lines * t.config.LineBits }
