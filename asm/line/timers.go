package line

import (
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TimerParams says what timer lines hold and how elements are looked up in them.
type TimerParams struct {
	// Bits is the width of a timer: 8 (64 timers in a line) or 16 (32).
	Bits int
	// K is how many timers an element has, from 1 to MaxCellK.
	K int
	// Window is how many ticks an element is found, from 1 to 2^Bits - 2.
	Window int
	// Equal is how many of an element's timers have to be equal for it to be found,
	// from 0 to K; 0 and 1 ask for nothing.
	Equal int
	// Refresh makes an element that is found set its timers again.
	Refresh bool
}

// SweepInterval returns by how many ticks two sweeps of a line may be apart:
// 2^Bits - 1 - Window, at least 1.
func (p TimerParams) SweepInterval() int { return 1<<p.Bits - 1 - p.Window }

func (p TimerParams) check() error {
	if p.Bits != 8 && p.Bits != 16 {
		return fmt.Errorf("line: timers have %d bits, must be 8 or 16: %w", p.Bits, ErrParams)
	}
	for _, v := range []struct {
		name             string
		value, low, high int
	}{
		{"K", p.K, 1, layout.MaxCellK},
		{"Window", p.Window, 1, 1<<p.Bits - 2},
		{"Equal", p.Equal, 0, p.K},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("line: timer lines: %s is %d, must be from %d to %d: %w", v.name, v.value, v.low, v.high, ErrParams)
		}
	}
	return nil
}

// TimerCounts is what TestAndSetTimers and SweepTimers add to.
type TimerCounts struct {
	// NonZero grows by the timers that were zero and are set, and falls by those that
	// are swept. Counted from a filter without elements it is the number of timers
	// that are not zero: after a sweep of all lines, of those that have not expired.
	NonZero uint64
	// Missed counts the elements that were not found.
	Missed uint64
}

// TestAndSetTimers takes digests, in order, through the sliding Bloom filter of
// Koloniari, Ntarmos, Pitoura and Souravlias ("One is Enough: Distributed Filtering
// for Duplicate Elimination", section 4) all of whose timers for an element lie in one
// line. It sets bit i of seen if the K timers of element i are live at ticks[i], and
// with Equal above 1 at least so many of them are equal; it clears the bits of the
// others in the words that cover len(digests) elements. The timers of an element that
// is not found, or with Refresh of every one, are set to ticks[i].
//
// Element i lives in the line floor(digests[i][1] * len(lines) / 2^64) of N = 512 / Bits
// timers, and has those of them that TestAndSetCells describes for cells.
//
// A timer does not run down: it holds a stamp of the tick when it was set. Its age is less than
// 2^Bits - 1, so it is known if it was swept in time, and it is live if its age is
// below Window. So an element is found in the tick in which it is set and in the
// Window - 1 ticks after it: exactly, if Equal asks for nothing, as then no other
// element can end a live timer early. With Equal, elements can be missed whose timers
// others have set.
//
// Every line must be swept (SweepTimers) at least once in SweepInterval ticks: to
// move on from tick s, when it was swept last, to t, sweep first if t - s is more than
// that, at a tick of s + SweepInterval at most. Over a longer silence one sweep at each
// such tick is enough, and none is needed in a line without timers. A stamp that is not
// swept in time looks young again after 2^Bits - 1 ticks. A sweep in between changes no
// verdict, so when it happens is free.
//
// Ticks must not fall, neither within a call nor from one call to the next on the same
// lines: a late element counts as one of the present, which the caller sees to, as
// only that knows the whole stream. It panics if ticks fall within a call, lines is
// empty, or seen or ticks are too short. It takes constant time for an element, O(K^2)
// with Equal above 1, and allocates nothing.
func TestAndSetTimers(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []uint64, r *TimerRule, c *TimerCounts) {
	n := len(digests)
	checkArguments("TestAndSetTimers", lines, seen, nil, n)
	switch {
	case len(ticks) < n:
		panic("line: TestAndSetTimers: ticks shorter than the elements")
	case decreasing(ticks[:n]):
		panic("line: TestAndSetTimers: ticks fall")
	}
	if n == 0 {
		return
	}
	c.Missed += uint64(n)
	var w pipeline
	var stamps timerStamps
	w.elements = elements{kind: inLines, count: n, digests: digests}
	w.begin(lines)
	for at := range seen[:bitWords(n)] {
		current, ahead, size := w.next()
		r.pick.cells(current, size)
		stamps.fill(ticks[64*at:64*at+size], r)
		found, filled := testAndSetTimerBatch(lines, current, ahead, size, &stamps, r)
		seen[at] = inOrder(found, size)
		c.NonZero += filled
		c.Missed -= uint64(bits.OnesCount64(found))
	}
}

// SweepTimers clears the timers of lines that are not live at tick, which must not be
// before the last tick that they were set or swept at.
func SweepTimers(lines []layout.Line, tick uint64, r *TimerRule, c *TimerCounts) {
	c.NonZero -= sweepTimers(lines, tick, r)
}

// TimerRule is TimerParams made ready for TestAndSetTimers. It does not change and may
// be shared.
type TimerRule struct {
	pick   cellPick
	bits   uint64 // of a timer
	period uint64 // 2^bits - 1, after which stamps come again
	window uint64
	k      uint64
	equal  uint64
	ones   uint64 // the lowest bit of every timer of a word
	// set has which timers an element sets that is found, and one that is not: none or
	// all.
	set [2]uint64
}

// NewTimerRule prepares p. Errors wrap ErrParams.
func NewTimerRule(p TimerParams) (*TimerRule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &TimerRule{
		pick:   newCellPick(512/p.Bits, p.K),
		bits:   uint64(p.Bits),
		period: 1<<p.Bits - 1,
		window: uint64(p.Window),
		k:      uint64(p.K),
		equal:  uint64(p.Equal),
		ones:   ^uint64(0) / (1<<p.Bits - 1),
		set:    [2]uint64{0, ^uint64(0)},
	}
	if p.Refresh {
		r.set[0] = ^uint64(0)
	}
	return r, nil
}

// stamp returns what a timer holds that is set at tick.
func (r *TimerRule) stamp(tick uint64) uint64 { return 1 + tick%r.period }

// oldest returns up to which difference to the stamp now, modulo 2^bits, a timer is
// live that is not zero. Differences are ages as long as stamps have not come
// again between, and one more than that if they have: then now is at most age, and a
// difference of window, which can be either an age of window or one less, is the
// latter.
func (r *TimerRule) oldest(now uint64) uint64 {
	if now < r.window {
		return r.window
	}
	return r.window - 1
}

// sweepWords returns the present stamp and the largest difference of a live one to it, both
// in all timers of a word.
func (r *TimerRule) sweepWords(tick uint64) (now, oldest uint64) {
	stamp := r.stamp(tick)
	return stamp * r.ones, r.oldest(stamp) * r.ones
}

// timerStamps is what the kernels of timers know of the ticks of a batch, in all
// timers of a word each. They know its layout.
type timerStamps struct {
	stamp  [64]uint64 // of the element's tick
	oldest [64]uint64 // the largest difference of a live timer to it; see TimerRule.oldest
	// tick is that of all 64 stamps if uniform is set.
	tick    uint64
	uniform bool
}

// fill makes the stamps of 1 to 64 ticks, which do not fall. Mostly all of them are
// what those of the last batch were, and nothing is to be done.
func (s *timerStamps) fill(ticks []uint64, r *TimerRule) {
	first, same := ticks[0], ticks[0] == ticks[len(ticks)-1]
	if s.uniform && same && first == s.tick {
		return
	}
	s.tick, s.uniform = first, same && len(ticks) == 64
	done := s.fillVectors(ticks, r)
	if done == len(ticks) {
		return
	}
	last := ticks[done]
	stamp := r.stamp(last)
	for i, tick := range ticks[done:] {
		if tick != last {
			last, stamp = tick, r.stamp(tick)
		}
		s.stamp[(done+i)&63] = stamp * r.ones
		s.oldest[(done+i)&63] = r.oldest(stamp) * r.ones
	}
}

// decreasing reports whether a tick is less than the one before it.
func decreasing(ticks []uint64) bool {
	done, fell := decreasingVectors(ticks)
	for i := done + 1; i < len(ticks); i++ {
		fell = fell || ticks[i] < ticks[i-1]
	}
	return fell
}
