package line

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
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
