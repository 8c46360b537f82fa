package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
	"math/bits"
)

// TimerConfig says which Bloom filter of timers to build.
type TimerConfig struct {
	Timers int // m, from 1 to 2^32
	K      int // hash functions, from 1 to 1024
	Window int // w in time units, from 1 to half of the largest int
	Equal  int // k', timers that have to be equal, from 0 to K; 0 and 1 ask for nothing
}

func (c TimerConfig) validate() error {
	if err := requireRange("window", c.Window, 1, math.MaxInt/2); err != nil {
		return err
	}
	return c.validateShape()
}

// validateShape checks all but the window.
func (c TimerConfig) validateShape() error {
	if err := requireRange("timers", c.Timers, 1, maxTimers); err != nil {
		return err
	}
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return err
	}
	return requireRange("equal timers", c.Equal, 0, c.K)
}

// TimerBloom is the sliding Bloom filter of paper "One is Enough: Distributed
// Filtering for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias,
// CIKM 2011), section 4: m timers, shared by k hash functions, in place of a Bloom
// filter's bits. An event is a duplicate if none of its k timers is zero and, with
// the equal timers heuristic, at least k' of them are equal, for these were most
// probably set by one event. The timers of a distinct event are set to w; in each
// time unit all timers that are not zero lose one.
//
// Without the heuristic every event that was reported distinct in the latest w
// units, the present one included, is found again. The heuristic misses those of
// whose timers others have set too many since.
//
// It is also the vertical sliding filter: its slices are ranges of the timers and,
// as one clock drives all, are observed as one filter. [TimerSlices] are the
// horizontal ones.
//
// Readings taken:
//
//   - Timers of duplicates are not set ("only if an event is distinct"), so an event
//     that keeps coming is reported distinct once in w units, as Definition 4 has
//     it, whose window counts from deliveries.
//   - An event of t units ago sets its timers to w - t, as printed for slices that
//     learn of it late, but never lowers one: that would have another event
//     forgotten before its time. If t is w or more it sets none.
//   - "At least k' equal" is about the largest group of equal ones. Hash functions
//     that agree on a timer count as often as they do. As this package makes them from
//     two values by double hashing, two events have all k timers in common with
//     probability m^-2, which is what is left of false positives from about k' = 3 on.
//   - Timers have ceil(log2(w+1)) bits; the printed ceil(log2(w)) leaves no place
//     for the zero if w is a power of two.
type TimerBloom struct {
	timers timers
	pos    []uint64
	equal  int
}

var _ TimedFilter = (*TimerBloom)(nil)

// NewTimerBloom returns a filter whose timers are all zero. It allocates eight bytes
// for each timer. Errors wrap [ErrParameter].
func NewTimerBloom(c TimerConfig) (*TimerBloom, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return newTimerBloom(c), nil
}

// newTimerBloom is [NewTimerBloom] for a configuration that was found to be good.
func newTimerBloom(c TimerConfig) *TimerBloom {
	return &TimerBloom{timers: newTimers(c.Timers, c.Window), pos: make([]uint64, c.K), equal: c.Equal}
}

// TestAndSetAt implements [TimedFilter]. It takes O(k log k) and O(1) for each unit
// that passes.
func (b *TimerBloom) TestAndSetAt(d digest.Digest, unit uint64) (seen bool) {
	b.advance(unit)
	if b.test(d) {
		return true
	}
	b.set(d, unit)
	return false
}

// EqualTimers returns the size of the largest group of equal timers among the
// element's k, 0 if one of them is zero. It makes unit the present, unless it is
// past, and remembers nothing.
func (b *TimerBloom) EqualTimers(d digest.Digest, unit uint64) int {
	b.advance(unit)
	return b.largestGroup(d)
}

// Running returns how many timers are not zero.
func (b *TimerBloom) Running() int { return b.timers.running }

// Bits implements [TimedFilter].
func (b *TimerBloom) Bits() int { return len(b.timers.zeroAt) * bits.Len64(b.timers.window) }

func (b *TimerBloom) advance(unit uint64) { b.timers.advance(unit) }

func (b *TimerBloom) test(d digest.Digest) (seen bool) { return b.largestGroup(d) >= max(1, b.equal) }

func (b *TimerBloom) set(d digest.Digest, unit uint64) {
	positions(b.pos, d, uint64(len(b.timers.zeroAt)))
	for _, i := range b.pos {
		b.timers.set(i, unit)
	}
}

func (b *TimerBloom) occupied() int { return b.timers.running }
