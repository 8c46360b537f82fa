// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// TimerParams configures timer lines and the lookup of elements in them.
type TimerParams struct {
	// Bits is the width of a timer: 8 (64 timers in a line) or 16 (32).
	Bits int
	// K is the number of timers of an element, 1 to layout.MaxCellK.
	K int
	// Window is the number of ticks for which an element is found, 1 to 2^Bits - 2.
	Window int
	// Equal is the number of timers of an element that must be equal for it to be found,
	// 0 to K. 0 and 1 require nothing.
	Equal int
	// Refresh makes a found element set its timers again.
	Refresh bool
}

// SweepInterval returns the greatest number of ticks between two sweeps of a line: 2^Bits
// - 1 - Window, at least 1.
func (p TimerParams) SweepInterval() int { return 1<<p.Bits - 1 - p.Window }

func (p TimerParams) check() error {
	if p.Bits != 8 && p.Bits != 16 {
		return fmt.Errorf("line: timers have %d bits, must be 8 or 16: %w", p.Bits, errParams)
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
			return fmt.Errorf("line: timer lines: %s is %d, must be from %d to %d: %w", v.name, v.value, v.low, v.high, errParams)
		}
	}
	return nil
}

// TimerCounts are the counts that TestAndSetTimers and SweepTimers add to.
type TimerCounts struct {
	// NonZero grows by the timers that were zero and are set, and falls by the timers
	// that are swept. Counted from an empty filter it is the number of timers that are
	// not zero. After a sweep of all lines these are the timers that have not expired.
	NonZero uint64
	// Missed counts the elements that were not found.
	Missed uint64
}

// TestAndSetTimers looks up digests, in order, in the sliding Bloom filter of Koloniari,
// Ntarmos, Pitoura and Souravlias ("One is Enough: Distributed Filtering for Duplicate
// Elimination", section 4), with all timers of an element in one line. It sets bit i of
// seen if the K timers of element i are live at ticks[i] and, with Equal above 1, at
// least Equal of them are equal. It clears the bits of the others in the words that cover
// len(digests) elements. It sets the timers of an element that is not found, and with
// Refresh of each element, to ticks[i].
//
// Element i lives in line floor(digests[i][1] * len(lines) / 2^64) of N = 512 / Bits
// timers. It owns the timers that TestAndSetCells describes for cells.
//
// A timer does not count down. It holds a stamp of the tick when it was set, and is live
// while its age is below Window. If lines are swept in time its age is below 2^Bits - 1,
// so the stamp determines it. An element is found in the tick in which it is set and in
// the Window - 1 ticks after it. This is exact if Equal is 0 or 1, since no other element
// can end a live timer early. With Equal above 1, elements can be missed whose timers
// others have set.
//
// SweepTimers must sweep each line at least once in SweepInterval ticks. Before a call at
// tick t, if the last sweep was at tick s and t - s is more than SweepInterval, sweep at
// a tick of at most s + SweepInterval. After a longer silence one sweep at each such tick
// is enough, and a line without timers needs none. A stamp that is not swept in time
// looks young again after 2^Bits - 1 ticks. Additional sweeps change no verdict.
//
// Ticks must not fall, neither within a call nor from one call to the next on the same
// lines. The caller must give a late element the present tick, since only the caller
// knows the whole stream. It panics if ticks fall within a call, lines is empty, or seen
// or ticks are too short. It takes constant time for each element, O(K^2) with Equal
// above 1, and does not allocate.
func TestAndSetTimers(lines []layout.Line, seen []uint64, digests []digest.Digest, ticks []uint64, r *TimerRule, c *TimerCounts) {
	n := len(digests)
	checkArguments("TestAndSetTimers", lines, seen, n)
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
// before the last tick at which they were set or swept.
func SweepTimers(lines []layout.Line, tick uint64, r *TimerRule, c *TimerCounts) {
	c.NonZero -= sweepTimers(lines, tick, r)
}

// TimerRule is TimerParams prepared for TestAndSetTimers. It is immutable and may be
// shared.
type TimerRule struct {
	pick   cellPick
	bits   uint64 // of a timer
	period uint64 // 2^bits - 1, after which stamps repeat
	window uint64
	k      uint64
	equal  uint64
	ones   uint64 // the lowest bit of every timer of a word
	// set has the timers that an element sets if it is found, and if it is not: none or
	// all.
	set [2]uint64
}

// NewTimerRule prepares p, or says which parameter is out of range.
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

// stamp returns the value of a timer that is set at tick.
func (r *TimerRule) stamp(tick uint64) uint64 { return 1 + tick%r.period }

// oldest returns the greatest difference to the stamp now, modulo 2^bits, of a live
// timer. A difference is an age, or one more if stamps wrapped around in between. If they
// did, now is at most the age. So if now is below window, a difference of window is an
// age of window - 1.
func (r *TimerRule) oldest(now uint64) uint64 {
	if now < r.window {
		return r.window
	}
	return r.window - 1
}

// sweepWords returns the present stamp and the greatest difference of a live timer to it,
// both in all timers of a word.
func (r *TimerRule) sweepWords(tick uint64) (now, oldest uint64) {
	stamp := r.stamp(tick)
	return stamp * r.ones, r.oldest(stamp) * r.ones
}

// timerStamps is the timer kernels' data of the ticks of a batch. Each value is in all
// timers of a word. The kernels in assembly know its layout.
type timerStamps struct {
	stamp  [64]uint64 // of the element's tick
	oldest [64]uint64 // the greatest difference of a live timer to it; see TimerRule.oldest
	// tick is the tick of all 64 stamps if uniform is set.
	tick    uint64
	uniform bool
}

// fill computes the stamps of 1 to 64 ticks, which do not fall. Usually all ticks equal
// those of the last batch, and there is nothing to do.
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

// decreasing reports whether a tick is less than the tick before it.
func decreasing(ticks []uint64) bool {
	done, fell := decreasingVectors(ticks)
	for i := done + 1; i < len(ticks); i++ {
		fell = fell || ticks[i] < ticks[i-1]
	}
	return fell
}
